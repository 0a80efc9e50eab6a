#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

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
    if (random_.chance(6)) limit[d] = start[d];
  }
  return known(b_->slice(x, start, limit, stride), bound(x));
}

ValueId OpDrawer::pad(ValueId x) {
  if (type(x).rank() == 0 || type(x).num_elements() > 500) return ValueId::kNone;
  const size_t rank = type(x).shape.size();
  Dims low(rank, 0), high(rank, 0), interior(rank, 0);
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    low[d] = random_.pick(type(x).dim(dim) > 4 ? -2 : 0, 4);
    high[d] = random_.pick(type(x).dim(dim) > 4 ? -2 : 0, 4);
    interior[d] = random_.chance(25) ? random_.pick(1, 2) : 0;
    if (!random_.chance(8)) continue;
    interior[d] = 0;  // and nothing is left
    low[d] = -random_.pick(0, type(x).dim(dim));
    high[d] = -type(x).dim(dim) - low[d];
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

// As numpy's roll is exported: parts of a dimension in another order.
ValueId OpDrawer::roll(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const int64_t dim = random_.below(type(x).rank());
  const auto d = static_cast<size_t>(dim);
  const int64_t size = type(x).shape[d];
  std::vector<int64_t> cuts = {0, random_.pick(0, size), size};
  if (random_.chance(30)) cuts.insert(cuts.begin() + 1, random_.pick(0, cuts[1]));
  std::vector<ValueId> parts;
  for (size_t i = 0; i + 1 < cuts.size(); ++i) {
    Dims start(type(x).shape.size(), 0), limit = type(x).shape;
    start[d] = cuts[i];
    limit[d] = cuts[i + 1];
    parts.push_back(b_->slice(x, start, limit));
    facts_[parts.back()] = facts_.at(x);
  }
  std::reverse(parts.begin(), parts.end());
  return known(b_->value(OpCode::kConcatenate, parts, ConcatenateAttrs{dim}), bound(x));
}

ValueId OpDrawer::iota(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const int64_t dim = random_.below(type(x).rank());
  return known(b_->iota(type(x).with_dtype(number()), dim), static_cast<double>(type(x).dim(dim)));
}

// The bits of integers, or of floats that are given: the sign of a computed zero depends on the
// order of additions.
ValueId OpDrawer::bitcast(ValueId x) {
  if (!is_integer(type(x).dtype) && !(is_float(type(x).dtype) && fn_.def(x) == nullptr)) {
    return ValueId::kNone;
  }
  TensorType to = type(x).with_dtype(random_.chance(30) ? DType::kS32 : random_integer(random_));
  const int from_bits = bit_width(type(x).dtype), to_bits = bit_width(to.dtype);
  if (to_bits < from_bits) {
    to.shape.push_back(from_bits / to_bits);
  } else if (to_bits > from_bits) {
    if (to.rank() == 0 || to.shape.back() != to_bits / from_bits) return ValueId::kNone;
    to.shape.pop_back();
  }
  if (to.num_elements() > 1500) return ValueId::kNone;
  const OpId op = b_->create(OpCode::kBitcastConvert, {x}, {to});
  return known(fn_.op(op).results[0], largest_integer(to.dtype));
}

}  // namespace spmd::testing
