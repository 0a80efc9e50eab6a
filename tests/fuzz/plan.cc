#include "runtime/plan/plan.h"

#include "ir/text.h"
#include "passes/compile.h"
#include "runtime/plan/checksum.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::vector<std::string> plan_seeds() {
  std::vector<std::string> result;
  for (const std::string& text : small_modules()) {
    const std::string bytes =
        plan::serialize_plan(compile(parse_stablehlo(text, "seed"), {}, {}).plan);
    result.emplace_back(plan::without_checksum(bytes, "seed"));
  }
  return result;
}

// What is read are Plans without their checksums, which would let no mutation past itself.
void read_plan(std::string_view bytes) {
  std::string sealed(bytes);
  plan::append_checksum(sealed);
  plan::parse_plan(sealed, "fuzz");
}

}  // namespace

FuzzTarget plan_target() { return {"plan", read_plan, plan_seeds, {}}; }

}  // namespace spmd::testing
