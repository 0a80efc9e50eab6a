#include "tests/differential/root_causes.h"

#include <fmt/format.h>

namespace spmd::testing {

const std::vector<RootCause>& root_causes() {
  using enum Circumstance;
  static const std::vector<RootCause> kCauses = {
      {"padding that counts",
       {"reduce", "reduce_window", "sort", "dot_general", "convolution", "select_and_scatter"},
       {kUneven, kEmptyShard}},
      {"indices clamped to a block instead of the whole",
       {"dynamic_slice", "dynamic_update_slice", "gather", "scatter"},
       {kUneven, kSubAxis}},
      {"blocks of a scatter taken before its reduction", {"scatter"}, {kUneven, kUnreduced}},
      {"a partial value used as if it were whole",
       {"maximum", "multiply", "compare", "abs", "convert", "select", "sort", "gather", "while"},
       {kUnreduced}},
      {"copies along an axis summed as if they were parts",
       {"concatenate", "pad", "reduce", "dot_general", "dynamic_update_slice"},
       {kUneven, kAxisOfOne, kUnreduced}},
      {"dimensions that are split and merged",
       {"reshape"},
       {kUneven, kEmptyShard, kSubAxis, kAxisOfOne, kUnreduced, kOddOrder}},
      {"axes of size 1, devices without elements, devices in another order",
       {"add", "dot_general", "reduce", "transpose", "broadcast_in_dim", "slice"},
       {kAxisOfOne, kEmptyShard, kOddOrder}},
      {"loops that are rewritten", {"while"}, {kUneven, kUnreduced, kOddOrder}},
      {"communicators made in different orders",
       {"all_gather", "all_reduce", "all_to_all", "collective_permute", "reduce_scatter", "case"},
       {kAxisOfOne, kOddOrder}},
  };
  return kCauses;
}

std::vector<std::string> causes_reached_less_than(int64_t least, const Coverage& coverage) {
  std::vector<std::string> missing;
  for (const RootCause& cause : root_causes()) {
    int64_t count = 0;
    for (const char* op : cause.ops) {
      for (Circumstance circumstance : cause.circumstances) {
        count += coverage.reached(std::string("stablehlo.") + op, circumstance);
      }
    }
    if (count < least) missing.push_back(fmt::format("{}: {}", cause.name, count));
  }
  return missing;
}

}  // namespace spmd::testing
