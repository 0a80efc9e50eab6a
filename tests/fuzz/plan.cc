#include "runtime/plan/plan.h"

#include "ir/text.h"
#include "passes/compile.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::vector<std::string> plan_seeds() {
  std::vector<std::string> result;
  for (const std::string& text : small_modules()) {
    result.push_back(plan::serialize_plan(compile(parse_stablehlo(text, "seed"), {}, {}).plan));
  }
  return result;
}

}  // namespace

FuzzTarget plan_target() {
  return {"plan", [](std::string_view bytes) { plan::parse_plan(bytes, "fuzz"); }, plan_seeds, {}};
}

}  // namespace spmd::testing
