#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

template <typename Fn>
void OpDrawer::in_region(OpId op, Fn&& draw) {
  Builder inner(fn_, fn_.add_region(op));
  Builder* const outer = std::exchange(b_, &inner);
  const size_t visible = pool_.size();
  std::vector<ValueId> before = pool_;
  ++depth_;
  draw();
  --depth_;
  b_ = outer;
  // Values of the region end with it; arguments of the function that it asked for stay.
  std::vector<ValueId> drawn(pool_.begin() + static_cast<ptrdiff_t>(visible), pool_.end());
  pool_ = std::move(before);
  for (ValueId value : drawn) {
    if (fn_.value(value).block == fn_.body()) pool_.push_back(value);
  }
}

// A counted loop with one carry that either accumulates what does not depend on it, or goes
// through random ops and is clamped.
ValueId OpDrawer::loop(ValueId x) {
  if (depth_ > 0 || type(x).dtype == DType::kBool) return ValueId::kNone;
  const int64_t trips = random_.pick(0, 3);
  const bool accumulates = random_.chance(60);
  const TensorType carried = type(x);
  const ValueId init = random_.chance(40) ? b_->splat(carried, 0) : x;
  const ValueId zero = b_->scalar(DType::kS32, 0);
  const OpId op = b_->create(OpCode::kWhile, {zero, init});
  in_region(op, [&] {
    const ValueId counter = fn_.add_block_argument(b_->block(), {DType::kS32, {}});
    fn_.add_block_argument(b_->block(), carried);
    b_->return_op({b_->compare(CompareDirection::kLt, counter,
                               b_->scalar(DType::kS32, static_cast<double>(trips)))});
  });
  double limit = std::max(bound(x), 50.0);
  in_region(op, [&] {
    const ValueId counter = known(fn_.add_block_argument(b_->block(), {DType::kS32, {}}), 3);
    const ValueId carry = fn_.add_block_argument(b_->block(), carried);
    if (!accumulates) known(carry, limit);
    for (int64_t steps = random_.pick(1, 2); steps > 0; --steps) step();
    ValueId next = ValueId::kNone;
    for (size_t i = pool_.size(); i-- > 0 && next == ValueId::kNone;) {
      if (type(pool_[i]) == carried && pool_[i] != carry) next = pool_[i];
    }
    if (next == ValueId::kNone) next = like(carried);
    if (accumulates && exact(limit + 3 * bound(next))) {
      limit += 3 * bound(next);
      next = b_->binary(OpCode::kAdd, carry, next);
    } else {
      next = b_->value(OpCode::kClamp,
                       {b_->scalar(carried.dtype, -50), next, b_->scalar(carried.dtype, 50)});
    }
    const ValueId one = b_->scalar(DType::kS32, 1);
    b_->return_op({b_->binary(OpCode::kAdd, counter, one), next});
  });
  return known(fn_.op(op).results[1], limit);
}

// A counted loop that accumulates contractions.
ValueId OpDrawer::contraction_loop(ValueId x) {
  if (depth_ > 0) return ValueId::kNone;
  const ValueId first = random_.chance(80) ? dot(x) : reduce(x);
  if (first == ValueId::kNone || !is_sum(first) || bound(first) > 1 << 14) return ValueId::kNone;
  const DType dtype = type(first).dtype;
  const int64_t trips = random_.pick(1, 3), terms = random_.pick(1, 2);
  const ValueId zero = b_->scalar(DType::kS32, 0);
  const ValueId init = random_.chance(50)   ? b_->splat(type(first), 0)
                       : random_.chance(50) ? first
                                            : like(type(first));
  const double start = bounds_.contains(init) ? bound(init) : 0;
  const OpId op = b_->create(OpCode::kWhile, {zero, init});
  in_region(op, [&] {
    const ValueId counter = fn_.add_block_argument(b_->block(), {DType::kS32, {}});
    fn_.add_block_argument(b_->block(), type(first));
    b_->return_op({b_->compare(CompareDirection::kLt, counter,
                               b_->scalar(DType::kS32, static_cast<double>(trips)))});
  });
  in_region(op, [&] {
    const ValueId counter = remember(fn_.add_block_argument(b_->block(), {DType::kS32, {}}), 3);
    ValueId sum = fn_.add_block_argument(b_->block(), type(first));
    const ValueId scale = dtype == DType::kS32 ? counter : remember(b_->convert(counter, dtype), 3);
    for (int64_t i = 0; i < terms; ++i) {
      const ValueId term = twin(first, scale);
      sum = random_.chance(50) ? b_->binary(OpCode::kAdd, sum, term)
                               : b_->binary(OpCode::kAdd, term, sum);
    }
    b_->return_op({b_->binary(OpCode::kAdd, counter, b_->scalar(DType::kS32, 1)), sum});
  });
  return known(fn_.op(op).results[1], start + 18 * bound(first));
}

ValueId OpDrawer::branch(ValueId x) {
  if (depth_ > 0) return ValueId::kNone;
  const bool two = random_.chance(60);
  const ValueId chosen = like({two ? DType::kBool : DType::kS32, {}});
  const TensorType result = type(x);
  const OpId op = b_->create(two ? OpCode::kIf : OpCode::kCase, {chosen}, {result});
  double limit = 0;
  for (int64_t i = two ? 2 : random_.pick(1, 3); i > 0; --i) {
    in_region(op, [&] {
      step();
      const ValueId value = like(result);
      limit = std::max(limit, bound(value));
      b_->return_op({value});
    });
  }
  return known(fn_.op(op).results[0], limit);
}

ValueId OpDrawer::barrier(ValueId x) {
  const ValueId y = any();
  const OpId op = b_->create(OpCode::kOptimizationBarrier, {x, y});
  known(fn_.op(op).results[1], bound(y));
  return known(fn_.op(op).results[0], bound(x));
}

}  // namespace spmd::testing
