#include <algorithm>
#include <cmath>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

OpCode OpDrawer::reducer(DType dtype) {
  using enum OpCode;
  if (dtype == DType::kBool) return random_.of(std::vector{kAnd, kOr, kXor});
  if (is_integer(dtype) && random_.chance(20)) return random_.of(std::vector{kAnd, kOr, kXor});
  if (random_.chance(8)) return kMultiply;
  return random_.of(std::vector{kAdd, kAdd, kMaximum, kMinimum});
}

// What a reduction starts with: its identity as far as the values go, or something that counts.
ValueId OpDrawer::initial(OpCode reducer, DType dtype) {
  if (random_.chance(20)) return like({dtype, {}});
  if (random_.chance(10)) return scalar(dtype, 1);
  switch (reducer) {
    case OpCode::kMaximum:
      return scalar(dtype, low_end(dtype));
    case OpCode::kMinimum:
      return scalar(dtype, high_end(dtype));
    case OpCode::kMultiply:
      return scalar(dtype, 1);
    case OpCode::kAnd: {
      const ValueId ones = b_->constant(reducer_identity(reducer, dtype));
      facts_[ones] = {.bound = is_integer(dtype) ? largest_integer(dtype) : 1};
      return ones;
    }
    default:
      return scalar(dtype, 0);
  }
}

// Of `count` values and the initial one, reduced.
double OpDrawer::reduced_bound(OpCode reducer, double values, double init, double count) const {
  switch (reducer) {
    case OpCode::kAdd:
      return values * count + init;
    case OpCode::kMultiply:
      return std::pow(std::max(1.0, values), count) * std::max(1.0, init);
    case OpCode::kMaximum:
    case OpCode::kMinimum:
      return std::max(values, init);
    default:
      return 2 * std::max(values, init) + 1;
  }
}

ValueId OpDrawer::reduce(ValueId x) {
  return type(x).rank() == 0 ? ValueId::kNone : reduce_over(x, some_dims(type(x).rank(), 1));
}

// Some dimensions, and seldom all.
Dims OpDrawer::dims_of_partial(int64_t rank) {
  Dims dims = some_dims(rank, 1);
  if (rank > 1 && static_cast<int64_t>(dims.size()) == rank && random_.chance(80)) {
    dims.erase(dims.begin() + random_.below(rank));
  }
  return dims;
}

// A reduction over dimensions that are cut.
ValueId OpDrawer::partial(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const Dims dims = dims_of_partial(type(x).rank());
  return reduce_over(cut(x, dims), dims);
}

// A value of this type that is reduced over a dimension that is cut.
ValueId OpDrawer::partial_like(const TensorType& type) {
  if (!is_float(type.dtype) && !is_integer(type.dtype)) return ValueId::kNone;
  TensorType longer = type;
  longer.shape.insert(longer.shape.begin(), random_.pick(2, 4));
  if (longer.num_elements() > 1000) return ValueId::kNone;
  const ValueId x = argument(longer);
  const OpCode code = random_.of(std::vector{OpCode::kAdd, OpCode::kMaximum, OpCode::kMinimum});
  const double start = code == OpCode::kMaximum   ? -bound(x)
                       : code == OpCode::kMinimum ? bound(x)
                                                  : 0;
  const ValueId init =
      scalar(type.dtype, is_unsigned_int(type.dtype) ? std::max(0.0, start) : start);
  const double limit =
      reduced_bound(code, bound(x), bound(init), static_cast<double>(longer.shape[0]));
  if (!fits(type.dtype, limit)) return ValueId::kNone;
  return known(b_->reduce(cut(x, {0}), init, {0}, code), limit);
}

// The same values as the largest of copies, which are cut: for ops whose operands are made for
// them. Copies alone would be made again whole where they are needed; min(x, max(x, y)) is x too,
// but y is at home in parts.
ValueId OpDrawer::as_partial(ValueId x) {
  if (!setting_.has(Circumstance::kUnreduced) || depth_ > 0 || random_.chance(40)) return x;
  const DType dtype = type(x).dtype;
  if (!is_float(dtype) && !is_integer(dtype)) return x;
  Dims shape = type(x).shape, dims;
  for (int64_t d = 1; d <= type(x).rank(); ++d) dims.push_back(d);
  shape.insert(shape.begin(), random_.pick(2, 4));
  const ValueId same = known(b_->broadcast(x, shape, dims), bound(x));
  if (same == ValueId::kNone) return x;
  const ValueId y = argument(type(same));
  const ValueId copies =
      remember(b_->binary(OpCode::kMinimum, same, b_->binary(OpCode::kMaximum, same, y)), bound(x));
  const ValueId init = b_->constant(reducer_identity(OpCode::kMaximum, dtype));
  return remember(b_->reduce(cut(copies, {0}), init, {0}, OpCode::kMaximum), bound(x));
}

ValueId OpDrawer::reduce_over(ValueId x, const Dims& dims) {
  const DType dtype = type(x).dtype;
  const OpCode code = reducer(dtype);
  const ValueId init = initial(code, dtype);
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(type(x).dim(dim));
  const double limit = reduced_bound(code, bound(x), bound(init), count);
  // Some accumulate in a wider type, which is also the result's.
  const bool narrow = is_float(dtype) ? byte_size(dtype) < 4 : is_signed_int(dtype);
  if (narrow && byte_size(dtype) < 4 && random_.chance(20)) {
    const DType wide = is_float(dtype) ? DType::kF32 : DType::kS32;
    TensorType result = infer_types(fn_, OpCode::kReduce, {{x, init}}, ReduceAttrs{dims})[0];
    const OpId op =
        b_->create(OpCode::kReduce, {x, init}, {result.with_dtype(wide)}, ReduceAttrs{dims});
    add_reducer_region(fn_, op, code, wide);
    return known(fn_.op(op).results[0], limit);
  }
  return known(b_->reduce(x, init, dims, code), limit);
}

// The largest element and where it is.
ValueId OpDrawer::reduce_pair(ValueId x) {
  if (type(x).rank() == 0 || type(x).dtype == DType::kBool || rough(x)) {
    return ValueId::kNone;
  }
  const int64_t dim = random_.below(type(x).rank());
  const DType dtype = type(x).dtype;
  const ValueId index = b_->iota(type(x).with_dtype(DType::kS32), dim);
  const OpId op =
      b_->create(OpCode::kReduce, {x, index, scalar(dtype, low_end(dtype)), scalar(DType::kS32, 0)},
                 ReduceAttrs{{dim}});
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args;
  for (DType d : {dtype, DType::kS32, dtype, DType::kS32}) {
    args.push_back(fn_.add_block_argument(region, {d, {}}));
  }
  Builder inner(fn_, region);
  const ValueId first = inner.compare(CompareDirection::kGe, args[0], args[2]);
  inner.return_op({inner.select(first, args[0], args[2]), inner.select(first, args[1], args[3])});
  known(fn_.op(op).results[0], std::max(bound(x), -low_end(dtype)));
  return known(fn_.op(op).results[1], 13);
}

// Several reductions over the same dimensions in one op.
ValueId OpDrawer::reduce_several(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const Dims dims = some_dims(type(x).rank(), 1);
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(type(x).dim(dim));
  std::vector<ValueId> operands, inits;
  std::vector<OpCode> codes;
  std::vector<double> limits;
  for (int64_t i = random_.pick(2, 3); i > 0; --i) {
    const DType dtype = operands.empty() ? type(x).dtype : number();
    operands.push_back(operands.empty() ? x : like(type(x).with_dtype(dtype)));
    codes.push_back(reducer(dtype));
    inits.push_back(initial(codes.back(), dtype));
    limits.push_back(
        reduced_bound(codes.back(), bound(operands.back()), bound(inits.back()), count));
  }
  const size_t n = operands.size();
  operands.insert(operands.end(), inits.begin(), inits.end());
  const OpId op = b_->create(OpCode::kReduce, operands, ReduceAttrs{dims});
  reducers(op, codes);
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < n; ++i) last = known(fn_.op(op).results[i], limits[i]);
  return last;
}

// A region that reduces the i-th elements by the i-th reducer.
void OpDrawer::reducers(OpId op, const std::vector<OpCode>& codes) {
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args, results;
  for (size_t i = 0; i < 2 * codes.size(); ++i) {
    const DType dtype = type(fn_.op(op).operands[i % codes.size()]).dtype;
    args.push_back(fn_.add_block_argument(region, {dtype, {}}));
  }
  Builder inner(fn_, region);
  for (size_t i = 0; i < codes.size(); ++i) {
    results.push_back(inner.binary(codes[i], args[i], args[codes.size() + i]));
  }
  inner.return_op(results);
}

}  // namespace spmd::testing
