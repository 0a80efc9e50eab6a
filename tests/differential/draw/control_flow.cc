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
  // Values of the region end with it; arguments that it asked for stay.
  std::vector<ValueId> drawn(pool_.begin() + static_cast<ptrdiff_t>(visible), pool_.end());
  pool_ = std::move(before);
  const BlockId whole = manual_ ? manual_->region : fn_.body();
  for (ValueId value : drawn) {
    if (fn_.value(value).block == whole) pool_.push_back(value);
  }
}

namespace {

// Loops in loops in loops only take longer.
constexpr int kDeepestNesting = 2;
// No element of any argument is larger.
constexpr double kLargestArgument = 14;
// Counters start at -2 or later and end at 3 or earlier.
constexpr int kMostTrips = 5;

double first_count(Random& random) {
  return random.chance(75) ? 0 : static_cast<double>(random.pick(-2, -1));
}

}  // namespace

// How often a loop runs: a number, or what the data says.
ValueId OpDrawer::trip_limit() {
  if (random_.chance(70)) return scalar(DType::kS32, static_cast<double>(random_.pick(0, 3)));
  const ValueId wished = uniform_like({DType::kS32, {}});
  return b_->value(OpCode::kClamp, {scalar(DType::kS32, 0), wished, scalar(DType::kS32, 3)});
}

void OpDrawer::loop_condition(OpId op, const std::vector<TensorType>& carried, ValueId limit) {
  in_region(op, [&] {
    const ValueId counter = fn_.add_block_argument(b_->block(), {DType::kS32, {}});
    for (const TensorType& type : carried) fn_.add_block_argument(b_->block(), type);
    b_->return_op({b_->compare(CompareDirection::kLt, counter, limit)});
  });
}

// A value of the type that was just drawn, if there is one.
ValueId OpDrawer::latest(const TensorType& wanted, ValueId except) {
  for (size_t i = pool_.size(); i-- > 0;) {
    if (type(pool_[i]) == wanted && pool_[i] != except) return pool_[i];
  }
  return like(wanted);
}

// The next value of a carry: it accumulates what does not depend on it, or went through the body's
// ops and is clamped. `limit` is its bound, which the former lets grow.
ValueId OpDrawer::next_carry(ValueId carry, bool accumulates, double& limit) {
  const TensorType carried = type(carry);
  const ValueId next = latest(carried, carry);
  if (carried.dtype == DType::kBool) return next;
  if (accumulates && fits(carried.dtype, limit + kMostTrips * bound(next))) {
    limit += kMostTrips * bound(next);
    return b_->binary(OpCode::kAdd, carry, next);
  }
  const double most = std::min(50.0, high_end(carried.dtype));
  const double least = std::max(-50.0, low_end(carried.dtype));
  return b_->value(OpCode::kClamp,
                   {b_->scalar(carried.dtype, least), next, b_->scalar(carried.dtype, most)});
}

// A loop with one or two carries beside its counter.
ValueId OpDrawer::loop(ValueId x) {
  if (depth_ >= kDeepestNesting) return ValueId::kNone;
  std::vector<ValueId> inits = {b_->scalar(DType::kS32, first_count(random_))};
  std::vector<TensorType> carried;
  std::vector<double> limits;
  for (int64_t i = random_.chance(30) ? 2 : 1; i > 0; --i) {
    const ValueId y = carried.empty() ? x : any();
    carried.push_back(type(y));
    inits.push_back(random_.chance(40) ? b_->splat(type(y), 0) : y);
    limits.push_back(std::max(bound(y), std::min(50.0, high_end(type(y).dtype))));
  }
  const bool accumulates = random_.chance(60);
  const ValueId limit = trip_limit();
  const OpId op = b_->create(OpCode::kWhile, inits);
  loop_condition(op, carried, limit);
  in_region(op, [&] {
    const ValueId counter = remember(fn_.add_block_argument(b_->block(), {DType::kS32, {}}), 3);
    std::vector<ValueId> carries, next;
    for (size_t i = 0; i < carried.size(); ++i) {
      carries.push_back(fn_.add_block_argument(b_->block(), carried[i]));
      if (accumulates) continue;
      remember(carries.back(), limits[i]);
      Facts& facts = facts_[carries.back()];
      facts.rough = !setting_.whole && is_float(carried[i].dtype);
      facts.varying = manual_ ? ~0U : 0;
    }
    for (int64_t steps = random_.pick(1, 2); steps > 0; --steps) step();
    for (size_t i = 0; i < carried.size(); ++i) {
      next.push_back(next_carry(carries[i], accumulates, limits[i]));
    }
    if (next.size() == 2 && carried[0] == carried[1] && !accumulates && random_.chance(40)) {
      std::swap(next[0], next[1]);
      limits[0] = limits[1] = std::max(limits[0], limits[1]);
    }
    const ValueId one = b_->scalar(DType::kS32, 1);
    next.insert(next.begin(), b_->binary(OpCode::kAdd, counter, one));
    b_->return_op(next);
  });
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < carried.size(); ++i) {
    last = known(fn_.op(op).results[i + 1], limits[i]);
    if (last != ValueId::kNone && manual_) facts_[last].varying = ~0U;
  }
  return last;
}

// A counted loop that accumulates contractions, or other sums.
ValueId OpDrawer::contraction_loop(ValueId x) {
  if (depth_ >= kDeepestNesting) return ValueId::kNone;
  const ValueId first = random_.chance(60) ? dot(x) : random_.chance(50) ? reduce(x) : scatter(x);
  if (first == ValueId::kNone || !is_sum(first)) return ValueId::kNone;
  const DType dtype = type(first).dtype;
  if (!fits(dtype, 64 * bound(first))) return ValueId::kNone;
  const int64_t trips = random_.pick(1, 3), terms = random_.pick(1, 2);
  const DType factor = type(fn_.def(first)->operands[0]).dtype;
  const double start_count = is_unsigned_int(factor) ? 0 : first_count(random_);
  const ValueId counter_init = b_->scalar(DType::kS32, start_count);
  const ValueId init = random_.chance(50)   ? b_->splat(type(first), 0)
                       : random_.chance(50) ? first
                                            : like(type(first));
  const double start = facts_.contains(init) ? bound(init) : 0;
  const ValueId limit = scalar(DType::kS32, start_count + static_cast<double>(trips));
  const OpId op = b_->create(OpCode::kWhile, {counter_init, init});
  loop_condition(op, {type(first)}, limit);
  in_region(op, [&] {
    const ValueId counter = remember(fn_.add_block_argument(b_->block(), {DType::kS32, {}}), 3);
    ValueId sum = fn_.add_block_argument(b_->block(), type(first));
    const ValueId scale =
        factor == DType::kS32 ? counter : remember(b_->convert(counter, factor), 3);
    for (int64_t i = 0; i < terms; ++i) {
      const ValueId term = twin(first, scale);
      if (term == ValueId::kNone) break;
      sum = random_.chance(50) ? b_->binary(OpCode::kAdd, sum, term)
                               : b_->binary(OpCode::kAdd, term, sum);
    }
    b_->return_op({b_->binary(OpCode::kAdd, counter, b_->scalar(DType::kS32, 1)), sum});
  });
  return known(fn_.op(op).results[1], start + 18 * bound(first));
}

ValueId OpDrawer::branch(ValueId x) {
  if (depth_ >= kDeepestNesting) return ValueId::kNone;
  const bool two = random_.chance(60);
  ValueId chosen = uniform_like({two ? DType::kBool : DType::kS32, {}});
  if (!two && setting_.has(Circumstance::kUnreduced) && manual_ == nullptr) {
    chosen = b_->reduce(cut(firm_like({DType::kS32, {size()}})), scalar(DType::kS32, 0), {0},
                        OpCode::kMaximum);
  }
  std::vector<TensorType> types = {type(x)};
  if (random_.chance(25)) types.push_back(type(any()));
  const OpId op = b_->create(two ? OpCode::kIf : OpCode::kCase, {chosen}, types);
  std::vector<double> limits(types.size(), 0);
  bool is_rough = false;
  for (int64_t i = two ? 2 : random_.pick(1, 3); i > 0; --i) {
    in_region(op, [&] {
      step();
      std::vector<ValueId> results;
      for (size_t r = 0; r < types.size(); ++r) {
        results.push_back(like(types[r]));
        limits[r] = std::max(limits[r], bound(results[r]));
        is_rough = is_rough || rough(results[r]);
      }
      b_->return_op(results);
    });
  }
  ValueId last = ValueId::kNone;
  for (size_t r = 0; r < types.size(); ++r) {
    last = known(fn_.op(op).results[r], limits[r]);
    if (last != ValueId::kNone) facts_[last].rough = facts_[last].rough || is_rough;
  }
  return last;
}

ValueId OpDrawer::barrier(ValueId x) {
  const ValueId y = any();
  const OpId op = b_->create(OpCode::kOptimizationBarrier, {x, y});
  known(fn_.op(op).results[1], bound(y));
  return known(fn_.op(op).results[0], bound(x));
}

// A call of a new private function, perhaps twice.
ValueId OpDrawer::call(ValueId x) {
  if (manual_ != nullptr || module_.functions().size() > 3) return ValueId::kNone;
  const int index = module_.add_function("f" + std::to_string(module_.functions().size()));
  Function& callee = module_.function(index);
  callee.set_private(true);
  OpDrawer inside(module_, callee, setting_, random_);
  inside.depth_ = depth_;
  const ValueId parameter = inside.argument(type(x), bound(x));
  inside.facts_[parameter].rough = rough(x);
  for (int64_t steps = random_.pick(1, 3); steps > 0; --steps) inside.step();
  std::vector<ValueId> returned = {inside.any()};
  if (random_.chance(30)) returned.push_back(inside.any());
  std::vector<TensorType> types;
  for (ValueId value : returned) {
    types.push_back(callee.type(value));
    ResultInfo& info = callee.result_info.emplace_back();
    if (!random_.chance(30)) continue;
    info.sharding = std::make_shared<const Sharding>(inside.sharding(callee.type(value).rank()));
  }
  inside.b_->return_op(returned);
  ValueId last = ValueId::kNone;
  const bool twice = bound(x) >= kLargestArgument && random_.chance(25);
  for (int calls = twice ? 2 : 1; calls > 0; --calls) {
    std::vector<ValueId> operands = {calls == 1 ? x : argument(type(x), bound(x))};
    for (size_t i = 1; i < callee.arguments().size(); ++i) {
      operands.push_back(argument(callee.type(callee.arguments()[i])));
    }
    const OpId op = b_->create(OpCode::kCall, operands, types, CallAttrs{index});
    for (size_t i = 0; i < returned.size(); ++i) {
      last = remember(fn_.op(op).results[i], inside.bound(returned[i]));
      facts_[last].rough = inside.rough(returned[i]);
    }
  }
  return last;
}

}  // namespace spmd::testing
