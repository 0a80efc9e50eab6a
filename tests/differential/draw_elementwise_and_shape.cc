#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// ---- elementwise

ValueId OpDrawer::elementwise(ValueId x) {
  if (type(x).dtype == DType::kBool) return logical(x);
  switch (random_.below(6)) {
    case 0:
      return select_or_clamp(x);
    case 1:
      return convert(x);
    case 2:
      return known(b_->value(random_.chance(50) ? OpCode::kNegate : OpCode::kAbs, {x}), bound(x));
    case 3:
      return known(b_->compare(random_.of(std::vector{CompareDirection::kLt, CompareDirection::kEq,
                                                      CompareDirection::kGe}),
                               x, like(type(x))),
                   1);
    default:
      return arithmetic(x);
  }
}

ValueId OpDrawer::logical(ValueId x) {
  switch (random_.below(4)) {
    case 0:
      return known(b_->value(OpCode::kNot, {x}), 1);
    case 1:
      return known(b_->binary(OpCode::kAnd, x, like(type(x))), 1);
    case 2:
      return known(b_->binary(OpCode::kOr, like(type(x)), x), 1);
    default: {
      const TensorType values = type(x).with_dtype(number());
      const ValueId on_true = like(values), on_false = like(values);
      return known(b_->select(x, on_true, on_false), std::max(bound(on_true), bound(on_false)));
    }
  }
}

ValueId OpDrawer::arithmetic(ValueId x) {
  const ValueId y = random_.chance(15) ? x : like(type(x));
  const bool swap = random_.chance(50);
  const ValueId lhs = swap ? y : x, rhs = swap ? x : y;
  const OpCode code =
      random_.of(std::vector{OpCode::kAdd, OpCode::kAdd, OpCode::kSubtract, OpCode::kMultiply,
                             OpCode::kMaximum, OpCode::kMinimum});
  const double limit = code == OpCode::kMultiply ? bound(x) * bound(y) : bound(x) + bound(y);
  return known(b_->binary(code, lhs, rhs), limit);
}

ValueId OpDrawer::select_or_clamp(ValueId x) {
  if (random_.chance(40)) {
    const TensorType limits = random_.chance(50) ? type(x) : type(x).with_shape({});
    const ValueId low = like(limits), high = like(limits);
    return known(b_->value(OpCode::kClamp, {low, x, high}),
                 std::max({bound(x), bound(low), bound(high)}));
  }
  const TensorType predicate{DType::kBool, random_.chance(25) ? Dims{} : type(x).shape};
  const ValueId other = like(type(x));
  return known(b_->select(like(predicate), x, other), std::max(bound(x), bound(other)));
}

ValueId OpDrawer::convert(ValueId x) {
  return known(b_->convert(x, is_float(type(x).dtype) ? DType::kS32 : DType::kF32), bound(x));
}

// ---- shape

ValueId OpDrawer::broadcast(ValueId x) {
  Dims to, dims;
  for (int64_t extent : type(x).shape) {
    if (random_.chance(25)) to.push_back(size());
    dims.push_back(static_cast<int64_t>(to.size()));
    to.push_back(extent == 1 ? size() : extent);
  }
  if (to.size() < 4 && random_.chance(40)) to.push_back(size());
  if (TensorType{DType::kF32, to}.num_elements() > 1500 || to.size() > 5) return ValueId::kNone;
  return known(b_->broadcast(x, to, dims), bound(x));
}

namespace {

// A random list of sizes with this product.
Dims regrouped(int64_t total, Random& random) {
  std::vector<int64_t> primes;
  for (int64_t p = 2; total > 1; ++p) {
    for (; total % p == 0; total /= p) primes.push_back(p);
  }
  random.shuffle(primes);
  Dims sizes;
  for (int64_t prime : primes) {
    if (sizes.empty() || random.chance(50)) {
      sizes.push_back(prime);
    } else {
      sizes.back() *= prime;
    }
    if (random.chance(10)) sizes.push_back(1);
  }
  return sizes;
}

}  // namespace

ValueId OpDrawer::reshape(ValueId x) {
  const Dims from = type(x).shape;
  Dims to;
  const int64_t total = type(x).num_elements();
  if (total == 0) {
    to = {0, size()};
  } else if (random_.chance(30)) {
    to = regrouped(total, random_);
  } else {
    // Splits some dimensions and joins some neighbours.
    for (int64_t extent : from) {
      if (random_.chance(40)) {
        const Dims parts = regrouped(extent, random_);
        to.insert(to.end(), parts.begin(), parts.end());
      } else if (!to.empty() && random_.chance(40)) {
        to.back() *= extent;
      } else {
        to.push_back(extent);
      }
    }
  }
  if (to.size() > 6) return ValueId::kNone;
  return known(b_->reshape(x, to), bound(x));
}

ValueId OpDrawer::transpose(ValueId x) {
  Dims permutation = some_dims(type(x).rank(), type(x).rank());
  random_.shuffle(permutation);
  return known(b_->transpose(x, permutation), bound(x));
}

ValueId OpDrawer::slice(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  Dims start(type(x).shape.size(), 0), limit = type(x).shape, stride(start.size(), 1);
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    start[d] = random_.pick(0, limit[d] / 2);
    limit[d] = random_.pick(std::min(limit[d], start[d] + 1), limit[d]);
    stride[d] = random_.pick(1, 3);
  }
  return known(b_->slice(x, start, limit, stride), bound(x));
}

ValueId OpDrawer::pad(ValueId x) {
  if (type(x).rank() == 0 || type(x).num_elements() > 500) return ValueId::kNone;
  const size_t rank = type(x).shape.size();
  Dims low(rank, 0), high(rank, 0), interior(rank, 0);
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    low[d] = random_.pick(type(x).dim(dim) > 2 ? -1 : 0, 2);
    high[d] = random_.pick(type(x).dim(dim) > 2 ? -1 : 0, 2);
    interior[d] = random_.chance(20) ? 1 : 0;
  }
  const ValueId filler = random_.chance(50) ? scalar(type(x).dtype, 0) : like({type(x).dtype, {}});
  return known(b_->pad(x, filler, low, high, interior), std::max(bound(x), bound(filler)));
}

ValueId OpDrawer::concatenate(ValueId x) {
  if (type(x).rank() == 0 || type(x).num_elements() > 500) return ValueId::kNone;
  const int64_t dim = random_.below(type(x).rank());
  std::vector<ValueId> parts = {x};
  double limit = bound(x);
  for (int64_t i = random_.pick(1, 2); i > 0; --i) {
    TensorType other = type(x);
    if (random_.chance(50)) other.shape[static_cast<size_t>(dim)] = size();
    parts.push_back(like(other));
    limit = std::max(limit, bound(parts.back()));
  }
  random_.shuffle(parts);
  return known(b_->value(OpCode::kConcatenate, parts, ConcatenateAttrs{dim}), limit);
}

ValueId OpDrawer::reverse(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  return known(b_->value(OpCode::kReverse, {x}, ReverseAttrs{some_dims(type(x).rank(), 1)}),
               bound(x));
}

}  // namespace spmd::testing
