#include <algorithm>
#include <cmath>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// Functions whose values are no integers: what is drawn is a comparison of them.
ValueId OpDrawer::special_function(ValueId x) {
  if (type(x).dtype != DType::kF32 || rough(x)) return ValueId::kNone;
  x = as_partial(x);
  using enum OpCode;
  const OpCode unary = random_.of(std::vector{kErfc, kLgamma, kDigamma, kBesselI1e, kErfInv, kAcos,
                                              kAsin, kAtan, kCosh, kSinh, kAcosh, kAsinh, kAtanh});
  const ValueId y = random_.chance(70) ? b_->value(unary, {x})
                                       : b_->binary(random_.chance(50) ? kZeta : kPolygamma, x,
                                                    firm_like(type(x)));
  return known(b_->compare(CompareDirection::kLt, y, b_->splat(type(y), 0.5)), 1);
}

// Complex numbers with whole parts, and their real or imaginary part.
ValueId OpDrawer::complex(ValueId x) {
  if (type(x).dtype != DType::kF32) return ValueId::kNone;
  const ValueId y = like(type(x));
  ValueId z = b_->binary(OpCode::kComplex, x, y);
  double limit = std::max(bound(x), bound(y));
  if (random_.chance(50)) {
    const ValueId u = like(type(x)), v = like(type(x));
    const double other = std::max(bound(u), bound(v));
    const bool product = random_.chance(50);
    z = b_->binary(product ? OpCode::kMultiply : OpCode::kAdd, z,
                   b_->binary(OpCode::kComplex, u, v));
    limit = product ? 2 * limit * other : limit + other;
  }
  if (type(z).rank() > 0 && random_.chance(40)) {
    const Dims dims = some_dims(type(z).rank(), 1);
    for (int64_t d : dims) limit *= static_cast<double>(type(z).dim(d));
    z = b_->reduce(z, b_->scalar(DType::kC64, 0), dims, OpCode::kAdd);
  }
  if (!exact(limit)) return ValueId::kNone;
  return known(b_->value(random_.chance(50) ? OpCode::kReal : OpCode::kImag, {z}), limit);
}

// Transforms of 1, 2 or 4 numbers are exact.
ValueId OpDrawer::fft(ValueId x) {
  if (type(x).dtype != DType::kF32 || type(x).rank() == 0) return ValueId::kNone;
  FftAttrs attrs;
  double limit = 2 * bound(x);
  for (int64_t d = type(x).rank() - 1; d >= 0 && attrs.length.size() < 3; --d) {
    const int64_t length = type(x).dim(d);
    if (length != 1 && length != 2 && length != 4) break;
    attrs.length.insert(attrs.length.begin(), length);
    limit *= static_cast<double>(length);
    if (random_.chance(60)) break;
  }
  if (attrs.length.empty() || !exact(limit)) return ValueId::kNone;
  ValueId z;
  if (random_.chance(55)) {
    attrs.kind = FftKind::kRfft;
    z = b_->value(OpCode::kFft, {as_partial(x)}, attrs);
  } else {
    const ValueId y = like(type(x));
    limit *= std::max(1.0, bound(y) / std::max(1.0, bound(x)));
    attrs.kind = random_.chance(50) ? FftKind::kFft : FftKind::kIfft;
    z = b_->value(OpCode::kFft, {b_->binary(OpCode::kComplex, x, y)}, attrs);
  }
  return known(b_->value(random_.chance(50) ? OpCode::kReal : OpCode::kImag, {z}), limit);
}

// Of matrices with a large diagonal; compared, since roots are no integers.
ValueId OpDrawer::cholesky(ValueId x) {
  const Dims& shape = type(x).shape;
  const size_t rank = shape.size();
  if (type(x).dtype != DType::kF32 || rough(x) || rank < 1 || shape.back() > 5)
    return ValueId::kNone;
  Dims square = shape, dims;
  square.push_back(shape.back());
  for (int64_t d = 0; d < type(x).rank(); ++d) dims.push_back(d);
  if (TensorType{DType::kF32, square}.num_elements() > 1000) return ValueId::kNone;
  const ValueId wide = b_->broadcast(x, square, dims);
  const TensorType index{DType::kS32, square};
  const auto last = static_cast<int64_t>(rank);
  const ValueId diagonal =
      b_->compare(CompareDirection::kEq, b_->iota(index, last), b_->iota(index, last - 1));
  const ValueId matrix = remember(b_->select(diagonal, b_->splat(type(wide), 300), wide), 300);
  const ValueId factor =
      b_->value(OpCode::kCholesky, {as_partial(matrix)}, CholeskyAttrs{random_.chance(50)});
  return known(b_->compare(CompareDirection::kGt, factor, b_->splat(type(factor), 0.25)), 1);
}

// With ones on the diagonal the solutions of whole numbers are whole.
ValueId OpDrawer::triangular_solve(ValueId x) {
  const Dims& shape = type(x).shape;
  const size_t rank = shape.size();
  if (type(x).dtype != DType::kF32 || rank < 2) return ValueId::kNone;
  TriangularSolveAttrs attrs;
  attrs.left_side = random_.chance(50);
  attrs.lower = random_.chance(50);
  attrs.unit_diagonal = true;
  attrs.transpose_a = static_cast<TransposeKind>(random_.below(3));
  const int64_t size = shape[attrs.left_side ? rank - 2 : rank - 1];
  if (size > 4) return ValueId::kNone;
  Dims square = shape;
  square[rank - 1] = square[rank - 2] = size;
  const ValueId a = like({DType::kF32, square});
  const double growth = std::pow(1 + bound(a), static_cast<double>(std::max<int64_t>(size, 1) - 1));
  if (!exact(growth * bound(x))) return ValueId::kNone;
  return known(b_->value(OpCode::kTriangularSolve, {as_partial(a), as_partial(x)}, attrs),
               growth * bound(x));
}

ValueId OpDrawer::propagation_barrier(ValueId x) {
  if (manual_ != nullptr) return ValueId::kNone;
  const auto direction = static_cast<PropagationDirection>(random_.below(4));
  return known(b_->value(OpCode::kPropagationBarrier, {x}, PropagationBarrierAttrs{direction}),
               bound(x));
}

ValueId OpDrawer::sharding_group(ValueId x) {
  if (manual_ != nullptr) return ValueId::kNone;
  // Groups are the module's, not a function's.
  int64_t group = groups_++;
  for (const auto& fn : module_.functions()) {
    if (fn.get() == &fn_) break;
    group += 1000;
  }
  ValueId other = any();
  for (int attempt = 0; attempt < 5 && type(other).rank() != type(x).rank(); ++attempt) {
    other = any();
  }
  b_->create(OpCode::kShardingGroup, {x}, ShardingGroupAttrs{group});
  if (type(other).rank() == type(x).rank()) {
    b_->create(OpCode::kShardingGroup, {other}, ShardingGroupAttrs{group});
  }
  return x;
}

}  // namespace spmd::testing
