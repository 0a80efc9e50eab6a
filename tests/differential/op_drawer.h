// Draws ops, one family a file.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/builder.h"
#include "tests/differential/random.h"

namespace spmd::testing {

// Appends random ops to a function. Values carry a bound on the magnitude of their elements, and
// no op is drawn that could leave the range in which sums of integers are exact.
class OpDrawer {
 public:
  OpDrawer(Function& fn, Mesh mesh, Random& random)
      : fn_(fn), mesh_(std::move(mesh)), random_(random), body_(fn, fn.body()), b_(&body_) {}

  // Draws one op (with what it needs around it) on some value.
  void step();
  ValueId argument(TensorType type);
  // A value that was computed lately.
  ValueId any();
  // A sharding on the value itself, and a constraint on it.
  void annotate(ValueId value);
  ValueId constrained(ValueId value);
  Sharding sharding(int64_t rank);
  const std::vector<ValueId>& values() const { return pool_; }
  Builder& builder() { return *b_; }

  int64_t size();
  Dims shape(int64_t rank);
  DType number() { return random_.chance(70) ? DType::kF32 : DType::kS32; }

 private:
  using Draw = ValueId (OpDrawer::*)(ValueId);

  // Each returns kNone when the op cannot be drawn on this value.
  ValueId elementwise(ValueId x);
  ValueId logical(ValueId x);
  ValueId arithmetic(ValueId x);
  ValueId select_or_clamp(ValueId x);
  ValueId convert(ValueId x);

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

  ValueId reduce(ValueId x);
  ValueId reduce_pair(ValueId x);
  ValueId dot(ValueId x);
  ValueId convolution(ValueId x);
  ValueId reduce_window(ValueId x);
  ValueId select_and_scatter(ValueId x);

  ValueId dynamic_slice(ValueId x);
  ValueId dynamic_update_slice(ValueId x);
  ValueId gather(ValueId x);
  ValueId scatter(ValueId x);
  ValueId sort(ValueId x);
  ValueId top_k(ValueId x);
  ValueId random_bits(ValueId x);

  // The result of a contraction or of a sum over dimensions: partial, when these are sharded.
  bool is_sum(ValueId x) const;
  // Ops on such a value through which its reduction may move.
  void linear_tail(ValueId x);
  // The op that defines such a value, on its first operand times `scale`, a scalar.
  ValueId twin(ValueId x, ValueId scale);

  ValueId loop(ValueId x);
  ValueId contraction_loop(ValueId x);
  ValueId branch(ValueId x);
  ValueId barrier(ValueId x);
  ValueId propagation_barrier(ValueId x);
  ValueId sharding_group(ValueId x);

  // Registers a value; kNone when the bound leaves the exact range.
  ValueId known(ValueId value, double bound);
  // As above, always.
  ValueId remember(ValueId value, double bound);
  double bound(ValueId value) const { return bounds_.at(value); }
  static bool exact(double bound) { return bound <= 1 << 20; }
  // A value of exactly this type, made in one of many ways.
  ValueId like(const TensorType& type);
  ValueId source(const TensorType& type);
  ValueId scalar(DType dtype, double value);
  const TensorType& type(ValueId value) const { return fn_.type(value); }
  std::vector<int64_t> some_dims(int64_t rank, int64_t at_least);
  OpCode reducer(DType dtype);
  ValueId initial(OpCode reducer, DType dtype);
  void comparator(OpId op, const std::vector<DType>& dtypes, CompareDirection direction);

  struct IndexPlan;
  IndexPlan index_plan(const TensorType& operand);

  // Runs `draw` with a builder at the end of a new region of `op`.
  template <typename Fn>
  void in_region(OpId op, Fn&& draw);

  Function& fn_;
  Mesh mesh_;
  Random& random_;
  Builder body_;
  Builder* b_;
  int depth_ = 0;
  int64_t groups_ = 0;
  std::vector<ValueId> pool_;
  std::unordered_map<ValueId, double> bounds_;
};

}  // namespace spmd::testing
