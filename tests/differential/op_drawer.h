// Draws ops, one family a file (draw/).
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "tests/differential/element_types.h"
#include "tests/differential/random.h"
#include "tests/differential/setting.h"

namespace spmd::testing {

// Appends random ops to a function. Of every value is known
// - a bound on the magnitude of its elements: no op is drawn that could leave the range in which
//   sums of whole numbers are exact;
// - whether it is rough: it holds what rounding may have moved. Nothing discontinuous (comparisons,
//   conversions to integers, sorting) is done to such values;
// - in a manual computation, the manual axes along which it varies.
class OpDrawer {
 public:
  OpDrawer(Module& module, Function& fn, const Setting& setting, Random& random)
      : module_(module),
        fn_(fn),
        setting_(setting),
        random_(random),
        body_(fn, fn.body()),
        b_(&body_) {}

  // Whether the op that this setting prefers is drawn on real numbers only.
  static bool prefers_real_numbers(const Setting& setting);

  // Draws one op (with what it needs around it) on some value.
  void step();
  // A new argument of the function; in a manual computation, of that.
  ValueId argument(TensorType type);
  // One whose elements are within `bound`.
  ValueId argument(TensorType type, double bound);
  // A value that was computed lately; where this is about unreduced values, often a new reduction.
  ValueId any();
  ValueId latest_or_any();
  // A sharding on the value itself, and a constraint on it.
  void annotate(ValueId value);
  ValueId constrained(ValueId value);
  Sharding sharding(int64_t rank, bool may_be_unreduced = false);
  ValueId cut(ValueId value, const Dims& first = {});
  const std::vector<ValueId>& values() const { return pool_; }
  Builder& builder() { return *b_; }

  int64_t size() { return random_size(setting_, random_); }
  Dims shape(int64_t rank);
  DType number() { return random_number(random_, /*narrow=*/setting_.whole); }

 private:
  using Draw = ValueId (OpDrawer::*)(ValueId);
  struct Choice {
    Draw draw;
    int weight;
    int ops;  // that it draws: how often it is preferred
  };
  static const std::vector<Choice>& choices();
  static const Choice& preferred(const Setting& setting);
  ValueId draw_one();

  // Each returns kNone when the op cannot be drawn on this value.
  ValueId elementwise(ValueId x);
  ValueId logical(ValueId x);
  ValueId binary(ValueId x);
  ValueId unary(ValueId x);
  ValueId bitwise(ValueId x);
  ValueId compare(ValueId x);
  ValueId select_or_clamp(ValueId x);
  ValueId convert(ValueId x);
  ValueId real_function(ValueId x);
  ValueId real_pair_function(ValueId x);
  ValueId scaled(ValueId x, double largest);
  ValueId positive(ValueId x, double shift);

  ValueId special_function(ValueId x);
  ValueId complex(ValueId x);

  ValueId fft(ValueId x);
  ValueId cholesky(ValueId x);
  ValueId triangular_solve(ValueId x);

  ValueId broadcast(ValueId x);
  ValueId reshape(ValueId x);
  ValueId transpose(ValueId x);
  ValueId slice(ValueId x);
  ValueId pad(ValueId x);
  ValueId concatenate(ValueId x);
  ValueId reverse(ValueId x);
  ValueId roll(ValueId x);
  ValueId bitcast(ValueId x);
  ValueId iota(ValueId x);

  ValueId reduce(ValueId x);
  ValueId reduce_over(ValueId x, const Dims& dims);
  ValueId partial(ValueId x);
  ValueId partial_like(const TensorType& type);
  ValueId as_partial(ValueId x);
  Dims dims_of_partial(int64_t rank);
  ValueId reduce_pair(ValueId x);
  ValueId reduce_several(ValueId x);
  ValueId dot(ValueId x);
  ValueId attention(ValueId x);
  ValueId convolution(ValueId x);
  ValueId reduce_window(ValueId x);
  ValueId reduce_window_pair(ValueId x, const WindowAttrs& window);
  ValueId select_and_scatter(ValueId x);

  ValueId dynamic_slice(ValueId x);
  ValueId dynamic_update_slice(ValueId x);
  ValueId gather(ValueId x);
  ValueId scatter(ValueId x);
  ValueId sort(ValueId x);
  ValueId top_k(ValueId x);
  ValueId random_bits(ValueId x);

  // The result of a contraction, of a sum over dimensions or of additions to places that indices
  // say: partial, when these dimensions, or those of the indices, are sharded.
  bool is_sum(ValueId x) const;
  // Ops on such a value through which its reduction may move.
  void linear_tail(ValueId x);
  // The op that defines such a value, on its first operand times `scale`, a scalar.
  ValueId twin(ValueId x, ValueId scale);

  ValueId loop(ValueId x);
  ValueId contraction_loop(ValueId x);
  ValueId trip_limit();
  void loop_condition(OpId op, const std::vector<TensorType>& carried, ValueId limit);
  ValueId latest(const TensorType& wanted, ValueId except);
  ValueId next_carry(ValueId carry, bool accumulates, double& limit);
  ValueId branch(ValueId x);
  ValueId barrier(ValueId x);
  ValueId propagation_barrier(ValueId x);
  ValueId sharding_group(ValueId x);
  ValueId call(ValueId x);
  ValueId constraint(ValueId x) { return constrained(x); }

  ValueId manual_computation(ValueId x);
  ValueId collective(ValueId x);
  ValueId all_gather(ValueId x);
  OpCode collective_reducer(DType dtype);
  ValueId all_reduce(ValueId x);
  ValueId reduce_scatter(ValueId x);
  ValueId all_to_all(ValueId x);
  ValueId collective_permute(ValueId x);
  ValueId partition_id(ValueId x);

  // Registers a value; kNone when the bound leaves the exact range.
  ValueId known(ValueId value, double bound);
  // As above, always.
  ValueId remember(ValueId value, double bound);
  double bound(ValueId value) const { return facts_.at(value).bound; }
  bool rough(ValueId value) const { return facts_.at(value).rough; }
  static bool exact(double bound) { return bound <= 1 << 20; }
  bool fits(DType dtype, double bound) const;

  // A value of exactly this type, made in one of many ways; like() may be rough.
  ValueId like(const TensorType& type);
  ValueId firm_like(const TensorType& type);
  // The same on all ranks of a manual computation: for predicates.
  ValueId uniform_like(const TensorType& type);
  ValueId source(const TensorType& type);
  ValueId scalar(DType dtype, double value);
  const TensorType& type(ValueId value) const { return fn_.type(value); }
  std::vector<int64_t> some_dims(int64_t rank, int64_t at_least);
  // An integer type for indices, and start indices of that type, in and out of range.
  DType index_type();
  void append_starts(const TensorType& operand, std::vector<ValueId>& operands);
  OpCode reducer(DType dtype);
  ValueId initial(OpCode reducer, DType dtype);
  void comparator(OpId op, const std::vector<DType>& dtypes, CompareDirection direction);
  void reducers(OpId op, const std::vector<OpCode>& codes);
  double reduced_bound(OpCode reducer, double values, double init, double count) const;

  struct IndexPlan;
  IndexPlan index_plan(const TensorType& operand);

  // Runs `draw` with a builder at the end of a new region of `op`.
  template <typename Fn>
  void in_region(OpId op, Fn&& draw);

  // A manual computation whose region is being drawn.
  struct Manual {
    OpId op = OpId::kNone;
    BlockId region = BlockId::kNone;
    AxisList axes, all_axes;  // its own; and with those of the ones around it
    std::vector<Sharding> in_shardings;
    std::vector<ValueId> returned;
    std::vector<ValueId> outer_pool;
    Manual* outer = nullptr;
  };
  AxisList some_manual_axes(const AxisList& from);
  Sharding manual_sharding(const TensorType& global, const AxisList& axes);
  ValueId manual_argument(const TensorType& local);
  ValueId manual_operand(Manual& manual, ValueId outer_value, Sharding sharding);
  void manual_results(Manual& manual);
  bool manual_result(const Manual& manual, ValueId value, std::vector<ValueId>& returned,
                     std::vector<Sharding>& shardings);
  CollectiveGroups groups_along(const AxisList& axes);
  uint32_t varying(ValueId value) const { return facts_.at(value).varying; }
  ValueId varies(ValueId value, uint32_t axes);

  struct Facts {
    double bound = 0;
    bool rough = false;
    uint32_t varying = 0;  // bit per mesh axis
  };
  Facts facts_of_operands(ValueId value) const;

  Module& module_;
  Function& fn_;
  const Setting& setting_;
  Random& random_;
  Builder body_;
  Builder* b_;
  int depth_ = 0;
  int64_t groups_ = 0;
  Manual* manual_ = nullptr;
  std::vector<ValueId> pool_;
  std::unordered_map<ValueId, Facts> facts_;
};

}  // namespace spmd::testing
