// Which ops were partitioned under which circumstances.
#pragma once

#include <array>
#include <map>
#include <string>

#include "ir/module.h"

namespace spmd::testing {

class Coverage {
 public:
  // Counts the ops of a module in which placements agree (after insert_reshards).
  void add(const Module& module);
  // A table: a row per op, a column per circumstance.
  std::string to_string() const;

 private:
  static constexpr std::array kColumns = {"all",      "sharded", "uneven",  "empty_shard",
                                          "sub_axis", "axis_1",  "partial", "odd_order"};
  std::map<std::string, std::array<int, kColumns.size()>> rows_;
};

}  // namespace spmd::testing
