// Which ops were partitioned on which kinds of dimensions, under which circumstances.
#pragma once

#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ir/module.h"
#include "tests/differential/setting.h"

namespace spmd::testing {

// A row for every op and every kind of dimension that its factor rule gives it:
//   batch      the same in all operands and results
//   free       the same in some of them
//   part       one of several factors of a dimension (reshape)
//   reduced    summed over, or otherwise reduced
//   indexed    addressed by indices
//   exchanged  blocks need rows of other blocks (slices, windows)
//   whole      every device needs all of it
//   any        ops without a rule
// and a column for every Circumstance. A cell counts ops with such a dimension that is sharded so;
// of `unreduced`, ops of which an operand (perhaps until it was reduced for the op) or a result is
// unreduced. Dimensions that the op is computed on in parts are counted as they are when placements
// agree (after hoist_reshards); `whole` ones, ops without a rule and ops without operands, which
// every device makes its part of, as propagation placed them.
class Coverage {
 public:
  // Counts the ops of a program as it is drawn. Those that passes rewrite before shardings are
  // propagated (calls, chlo.square) are only counted so, in a row `drawn` without cells.
  void add_drawn(const Module& program);
  // Counts a module after a pass, if it is one of those after which ops are counted.
  void add(const std::string& pass, const Module& module);
  void merge(const Coverage& other);

  std::string to_table() const;
  // "stablehlo.sort whole empty: 7" for each cell that was reached less often.
  std::vector<std::string> reached_less_than(int64_t least) const;
  // Ops under a circumstance, over all kinds of dimensions.
  int64_t reached(const std::string& op, Circumstance circumstance) const;
  // "stablehlo.sort" for each op that no program contained, with the reason if there is one.
  std::vector<std::string> never_drawn() const;
  size_t num_cells() const;

  // A line a row; parse() adds what to_lines() wrote.
  std::string to_lines() const;
  void parse(const std::string& lines);

 private:
  struct Row {
    int64_t ops = 0;
    std::array<int64_t, kCircumstanceNames.size()> cells{};
  };
  enum class Moment { kAsked, kDone };
  void count(const Module& module, OpId id, Moment moment);
  void count_unreduced_constraints(const Function& fn);
  void count_row(const std::string& op, const std::string& kind,
                 const std::array<bool, kCircumstanceNames.size()>& facts);

  std::map<std::pair<std::string, std::string>, Row> rows_;
};

}  // namespace spmd::testing
