#include "ir/builder.h"

#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "ir/reducer_region.h"
#include "support/error.h"

namespace spmd {

OpId Builder::create(OpCode code, ValueIds operands, std::vector<TensorType> types, Attrs attrs) {
  return fn_.insert_op(block_, before_, code, std::move(operands), std::move(types),
                       std::move(attrs), location);
}

OpId Builder::create(OpCode code, ValueIds operands, Attrs attrs) {
  std::vector<TensorType> types = infer_types(fn_, code, operands, attrs);
  return create(code, std::move(operands), std::move(types), std::move(attrs));
}

ValueId Builder::constant(Literal literal) {
  return value(OpCode::kConstant, {}, ConstantAttrs{std::move(literal)});
}

ValueId Builder::splat(TensorType type, double value) {
  return constant(Literal::splat(std::move(type), value));
}

ValueId Builder::iota(TensorType type, int64_t dim) {
  return fn_.op(create(OpCode::kIota, {}, {std::move(type)}, IotaAttrs{dim})).results[0];
}

ValueId Builder::convert(ValueId operand, DType dtype) {
  const TensorType& type = fn_.type(operand);
  if (type.dtype == dtype) return operand;
  return fn_.op(create(OpCode::kConvert, {operand}, {type.with_dtype(dtype)})).results[0];
}

ValueId Builder::reshape(ValueId operand, Dims shape) {
  const TensorType& type = fn_.type(operand);
  if (type.shape == shape) return operand;
  return fn_.op(create(OpCode::kReshape, {operand}, {type.with_shape(std::move(shape))}))
      .results[0];
}

ValueId Builder::transpose(ValueId operand, Dims permutation) {
  return value(OpCode::kTranspose, {operand}, TransposeAttrs{std::move(permutation)});
}

ValueId Builder::broadcast(ValueId operand, Dims shape, Dims dims) {
  TensorType type = fn_.type(operand).with_shape(std::move(shape));
  return fn_
      .op(create(OpCode::kBroadcastInDim, {operand}, {std::move(type)},
                 BroadcastInDimAttrs{std::move(dims)}))
      .results[0];
}

ValueId Builder::slice(ValueId operand, Dims start, Dims limit, Dims stride) {
  if (stride.empty()) stride.assign(start.size(), 1);
  return value(OpCode::kSlice, {operand},
               SliceAttrs{std::move(start), std::move(limit), std::move(stride)});
}

ValueId Builder::pad(ValueId operand, ValueId padding, Dims low, Dims high, Dims interior) {
  if (interior.empty()) interior.assign(low.size(), 0);
  return value(OpCode::kPad, {operand, padding},
               PadAttrs{std::move(low), std::move(high), std::move(interior)});
}

ValueId Builder::compare(CompareDirection direction, ValueId lhs, ValueId rhs) {
  const DType dtype = fn_.type(lhs).dtype;
  const CompareType type = is_float(dtype)        ? CompareType::kFloat
                           : is_signed_int(dtype) ? CompareType::kSigned
                                                  : CompareType::kUnsigned;
  return value(OpCode::kCompare, {lhs, rhs}, CompareAttrs{direction, type});
}

ValueId Builder::reduce(ValueId operand, ValueId init, Dims dims, OpCode reducer) {
  const OpId op = create(OpCode::kReduce, {operand, init}, ReduceAttrs{std::move(dims)});
  add_reducer_region(fn_, op, reducer, fn_.type(operand).dtype);
  return fn_.op(op).results[0];
}

OpId Builder::return_op(ValueIds operands) {
  return create(OpCode::kReturn, std::move(operands), std::vector<TensorType>{});
}

void add_reducer_region(Function& fn, OpId op, OpCode reducer, DType dtype) {
  const BlockId region = fn.add_region(op);
  const ValueId lhs = fn.add_block_argument(region, {dtype, {}});
  const ValueId rhs = fn.add_block_argument(region, {dtype, {}});
  Builder inner(fn, region);
  inner.location = fn.op(op).location;
  inner.return_op({inner.binary(reducer, lhs, rhs)});
}

std::optional<OpCode> reducer_of(const Function& fn, BlockId region) {
  const Block& block = fn.block(region);
  if (block.args.size() != 2) return std::nullopt;
  const Op& last = fn.op(block.last);
  const bool one_op = block.first != block.last && fn.op(block.first).next == block.last;
  if (last.operands.size() != 1 || !one_op) return std::nullopt;
  return component_reducer(fn, region, 0);
}

namespace {

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// The first and last numbers of a float type: infinities where it has them. Types of one byte have
// few enough to look at all.
std::pair<double, double> range_of_float(DType dtype) {
  if (byte_size(dtype) > 1) return {-kUnbounded, kUnbounded};
  std::vector<std::byte> patterns(256);
  for (size_t i = 0; i < patterns.size(); ++i) patterns[i] = static_cast<std::byte>(i);
  const Literal all({dtype, {256}}, std::move(patterns));
  double low = kUnbounded, high = -kUnbounded;
  for (int64_t i = 0; i < 256; ++i) {
    const double value = all.as_double(i);
    if (value < low) low = value;  // false for NaN
    if (value > high) high = value;
  }
  return {low, high};
}

// Both parts infinite: before, or behind, all other complex numbers.
Literal infinite_complex(DType dtype, double infinity) {
  const TensorType scalar{dtype, {}};
  if (dtype == DType::kC64) {
    const std::complex<float> value(static_cast<float>(infinity), static_cast<float>(infinity));
    return Literal::splat(scalar, static_cast<const void*>(&value));
  }
  const std::complex<double> value(infinity, infinity);
  return Literal::splat(scalar, static_cast<const void*>(&value));
}

double lowest(DType dtype) {
  switch (dtype) {
    case DType::kS2:
      return -2;
    case DType::kS4:
      return -8;
    case DType::kS8:
      return -128;
    case DType::kS16:
      return -32768;
    case DType::kS32:
      return std::numeric_limits<int32_t>::min();
    case DType::kS64:
      return -9223372036854775808.0;
    default:
      return is_float(dtype) ? range_of_float(dtype).first : 0;
  }
}

Literal highest(DType dtype) {
  const TensorType scalar{dtype, {}};
  switch (dtype) {
    case DType::kBool:
      return Literal::splat(scalar, 1.0);
    case DType::kS2:
      return Literal::splat(scalar, 1.0);
    case DType::kS4:
      return Literal::splat(scalar, 7.0);
    case DType::kS8:
      return Literal::splat(scalar, 127.0);
    case DType::kS16:
      return Literal::splat(scalar, 32767.0);
    case DType::kS32:
      return Literal::splat(scalar, 2147483647.0);
    case DType::kS64: {
      const int64_t value = std::numeric_limits<int64_t>::max();
      return Literal::splat(scalar, static_cast<const void*>(&value));
    }
    case DType::kU2:
      return Literal::splat(scalar, 3.0);
    case DType::kU4:
      return Literal::splat(scalar, 15.0);
    case DType::kU8:
      return Literal::splat(scalar, 255.0);
    case DType::kU16:
      return Literal::splat(scalar, 65535.0);
    case DType::kU32:
      return Literal::splat(scalar, 4294967295.0);
    case DType::kU64: {
      const uint64_t value = std::numeric_limits<uint64_t>::max();
      return Literal::splat(scalar, static_cast<const void*>(&value));
    }
    default:
      return Literal::splat(scalar, range_of_float(dtype).second);
  }
}

// All bits set: the identity of `and`.
Literal all_ones(DType dtype) {
  if (dtype == DType::kBool) return highest(dtype);
  if (is_unsigned_int(dtype)) return highest(dtype);
  return Literal::splat({dtype, {}}, -1.0);
}

}  // namespace

Literal reducer_identity(OpCode reducer, DType dtype) {
  const TensorType scalar{dtype, {}};
  switch (reducer) {
    case OpCode::kAdd:
    case OpCode::kOr:
    case OpCode::kXor:
      return Literal::splat(scalar, 0.0);
    case OpCode::kMultiply:
      return Literal::splat(scalar, 1.0);
    case OpCode::kMaximum:
      return is_complex(dtype) ? infinite_complex(dtype, -kUnbounded)
                               : Literal::splat(scalar, lowest(dtype));
    case OpCode::kMinimum:
      return is_complex(dtype) ? infinite_complex(dtype, kUnbounded) : highest(dtype);
    case OpCode::kAnd:
      return all_ones(dtype);
    default:
      SPMD_UNREACHABLE("{} is not a reducer", name_of(reducer));
  }
}

OpId clone_op(const Function& from, OpId id, Builder& builder, ValueMap& values) {
  const Op& old = from.op(id);
  const auto mapped = [&](ValueId value) {
    const auto found = values.find(value);
    return found == values.end() ? value : found->second;
  };
  ValueIds operands;
  operands.reserve(old.operands.size());
  for (ValueId operand : old.operands) operands.push_back(mapped(operand));
  std::vector<TensorType> types;
  for (ValueId result : old.results) types.push_back(from.type(result));
  Function& to = builder.function();
  const LocationRef outer = builder.location;
  if (old.location) builder.location = old.location;
  const OpId created = builder.create(old.code, std::move(operands), std::move(types), old.attrs);
  builder.location = outer;
  for (size_t i = 0; i < old.results.size(); ++i) {
    const ValueId result = to.op(created).results[i];
    to.value(result).sharding = from.value(old.results[i]).sharding;
    values[old.results[i]] = result;
  }
  for (size_t r = 0; r < from.op(id).regions.size(); ++r) {
    const BlockId source = from.op(id).regions[r];
    const BlockId region = to.add_region(created);
    const std::vector<ValueId> args = from.block(source).args;
    for (ValueId arg : args) {
      values[arg] = to.add_block_argument(region, from.type(arg), from.value(arg).sharding);
    }
    Builder inner(to, region);
    inner.location = builder.location;
    for_each_op(from, source, [&](OpId op) { clone_op(from, op, inner, values); });
  }
  return created;
}

std::vector<ValueId> inline_block(const Function& from, BlockId block, Builder& builder,
                                  ValueMap& values) {
  const OpId last = from.terminator(block);
  for_each_op(from, block, [&](OpId op) {
    if (op != last) clone_op(from, op, builder, values);
  });
  std::vector<ValueId> results;
  for (ValueId operand : from.op(last).operands) {
    const auto found = values.find(operand);
    results.push_back(found == values.end() ? operand : found->second);
  }
  return results;
}

}  // namespace spmd
