// Ops whose blocks need rows of other blocks: what they need, what that costs, and the op that each
// rank then runs.
//
// Of every exchanged factor of an op (sharding/rules/factor_rule.h) each rank makes its block of
// the results, from rows of the operands that it holds or that other ranks send. True sizes count:
// a block may reach beyond the dimension, and what results there hold does not matter.
#pragma once

#include <functional>

#include "collectives/planning/cost_model.h"
#include "passes/partition/line.h"
#include "passes/partition/local_op.h"
#include "passes/partition/local_window.h"

namespace spmd {

// Where an op stands. Dimensions of an operand that are whole may stay so.
struct ExchangeSite {
  const Function& fn;
  const AtomTable& atoms;
  std::function<Placement(ValueId)> placement;
  // Rows that each rank holds of a value, along a dimension that is cut.
  std::function<int64_t(ValueId, int64_t dim)> block;
  // Null when only costs are asked for: the local value that stands for one of `fn`, and the copy
  // of a region of scalar code.
  std::function<ValueId(ValueId)> local;
  std::function<void(BlockId from, BlockId to)> copy_region;
};

// Axes along one exchanged factor of an op.
struct ExchangedFactor {
  const ExchangeSite& site;
  const Op& op;
  const FactorRule& rule;
  int factor;
  AtomList axes;
  int64_t ranks;
  bool alone;  // the op has no other: then lines are read through what defines its operands

  // The dimension of a tensor that the factor is, if any.
  std::optional<int64_t> dim_in(const TensorFactors& tensor) const;
  int64_t operand_dim(size_t operand) const { return *dim_in(rule.operands[operand]); }
  LineTensor held(ValueId value, int64_t dim) const;
  LineReader reader(int64_t dim) const;
  Line line_of(size_t operand) const;
};

// Rows of one operand that ranks need.
struct RowNeed {
  size_t operand = 0;
  int64_t dim = 0;
  Line line;
  RowExchange exchange;
};

// `count` leading rows matter of windows of `window` rows from `start` on.
RowNeed row_need(const ExchangedFactor& factor, size_t operand, Line line, int64_t window,
                 RankFunction start, RankFunction count);
// The windows of an operand; rows outside of it are `filler`, if that is given.
RowNeed window_need(const ExchangedFactor& factor, size_t operand, const LocalWindow& window,
                    const std::optional<Filler>& filler);
// Blocks of `block` rows of an operand, with `filler` behind its true size.
RowNeed block_need(const ExchangedFactor& factor, size_t operand, int64_t block,
                   const Filler& filler);
// Rows of the blocks in which an operand is, or would be.
int64_t block_of(const ExchangedFactor& factor, size_t operand);

// Emits the exchange: the window on this rank, of local type `type` but for the rows.
ValueId emit_rows(LocalOp& local, const ExchangedFactor& factor, const RowNeed& need,
                  const TensorType& type);
// The same in place of the operand.
void replace_operand(LocalOp& local, const ExchangedFactor& factor, const RowNeed& need);

// Exchanged factors of an op that are cut, by an assignment.
std::vector<ExchangedFactor> exchanged_factors(const ExchangeSite& site, const Op& op,
                                               const FactorRule& rule,
                                               const FactorAssignment& assignment);

// Seconds that the op's exchanges take; infinite when they need too many permutes.
double exchange_seconds(const ExchangeSite& site, const Op& op, const FactorRule& rule,
                        const FactorAssignment& assignment, const CostModel& cost);

// create_local() for an op with exchanged factors that are cut.
LocalResult create_exchanged(LocalOp& local, const ExchangeSite& site,
                             const std::vector<ExchangedFactor>& factors);

// ---- by family

struct WindowPlan {
  LocalWindow window;
  std::vector<RowNeed> needs;
};

// Slices, pads, concatenations, reversals, updates at constant places. Without a window: each rank
// gets its block of the results at once.
bool has_window(const ExchangedFactor& factor);
std::vector<RowNeed> block_needs(const ExchangedFactor& factor);
WindowPlan shape_window(const ExchangedFactor& factor);

// Of slices, pads, reduce windows and convolutions.
WindowPlan window_plan(const ExchangedFactor& factor);
WindowPlan reduce_window_plan(const ExchangedFactor& factor);
// Whether windows of a reduce window reach beyond the operand while nothing is known that the
// reducer is not changed by: rows there are then marked, and counted for nothing, by
// create_marked_reduce_window().
bool needs_marks(const ExchangedFactor& factor);
struct ReducedWindow {
  const ExchangedFactor* factor;
  LocalWindow window;
};
LocalResult create_marked_reduce_window(LocalOp& local, const std::vector<ReducedWindow>& reduced);
// Whether the elements of a window of the first operand, of shape `shape` and from row first[r] on
// along the factor, lie in the operand.
ValueId inside_operand(LocalOp& local, const ExchangedFactor& factor, const Dims& shape,
                       const RankFunction& first);
// What a region of scalar code of the op makes of these values.
std::vector<ValueId> inline_region(const ExchangeSite& site, BlockId region, Builder& inner,
                                   const std::vector<ValueId>& arguments);
WindowPlan convolution_plan(const ExchangedFactor& factor);
// Whether each rank has as many taps of a kernel that is cut along the factor, if it is. Taps that
// filled the last block would meet rows of the input, and zero times infinity is no zero.
bool cuts_kernel_evenly(const ExchangedFactor& factor);

struct ScatterWindows {
  std::vector<RowNeed> needs;  // of the operand and of the source
  RankFunction first, skip;    // the first row of the operand, and rows before its block
  bool padded = false;         // some window reaches beyond the operand
};
ScatterWindows scatter_windows(const ExchangedFactor& factor);
LocalResult create_select_and_scatter(LocalOp& local, const std::vector<ExchangedFactor>& factors);

// A cumulative reduce window: a scan of each block, and of the blocks' totals.
bool is_scan(const ExchangedFactor& factor);
LocalResult create_scan(LocalOp& local, const ExchangedFactor& factor);

// The largest of each block, and the largest of these.
LocalResult create_top_k(LocalOp& local, const ExchangedFactor& factor);

}  // namespace spmd
