#include "ir/compare.h"
#include "ir/serialize.h"
#include "ir/text.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

// What is read is written as something that reads as the same.
void read_module(std::string_view bytes) {
  const Module module = deserialize(bytes, "fuzz");
  std::optional<std::string> difference;
  try {
    difference = first_difference(module, deserialize(serialize(module), "written"));
  } catch (const UserError& error) {
    difference = error.what();
  }
  if (difference) throw InternalError("what was written is not what was read: " + *difference);
}

std::vector<std::string> module_seeds() {
  std::vector<std::string> result;
  for (const std::string& text : seed_modules()) {
    result.push_back(serialize(parse_stablehlo(text, "seed")));
  }
  return result;
}

}  // namespace

FuzzTarget module_target() {
  return {"module", read_module, module_seeds, {"main", "stablehlo.add"}};
}

}  // namespace spmd::testing
