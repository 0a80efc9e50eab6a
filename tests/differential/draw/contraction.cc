#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {
namespace {

// A type that holds products of `dtype` with room to spare, or `dtype` itself.
DType product_type(DType dtype, Random& random) {
  if (random.chance(75)) return dtype;
  if (is_float(dtype)) return DType::kF32;
  return is_signed_int(dtype) ? DType::kS32 : DType::kU32;
}

struct DotDim {
  int64_t size, lhs;
  char kind;  // k: contracting, b: batching, f: free
};

}  // namespace

ValueId OpDrawer::dot(ValueId x) {
  const int64_t rank = type(x).rank();
  const DType dtype = type(x).dtype;
  if (dtype == DType::kBool || rank == 0) return ValueId::kNone;
  std::vector<DotDim> rhs_dims;
  double depth = 1;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t kind = random_.below(10);
    if (kind < 4) {
      rhs_dims.push_back({type(x).dim(d), d, 'k'});
      depth *= static_cast<double>(type(x).dim(d));
    } else if (kind < 6) {
      rhs_dims.push_back({type(x).dim(d), d, 'b'});
    }
  }
  for (int64_t i = random_.below(3); i > 0; --i) rhs_dims.push_back({size(), -1, 'f'});
  random_.shuffle(rhs_dims);
  TensorType rhs_type{dtype, {}};
  for (const DotDim& dim : rhs_dims) rhs_type.shape.push_back(dim.size);
  if (rhs_type.num_elements() > 1000) return ValueId::kNone;
  DotAttrs attrs;
  for (size_t i = 0; i < rhs_dims.size(); ++i) {
    if (rhs_dims[i].kind == 'f') continue;
    const bool batch = rhs_dims[i].kind == 'b';
    (batch ? attrs.lhs_batch : attrs.lhs_contracting).push_back(rhs_dims[i].lhs);
    (batch ? attrs.rhs_batch : attrs.rhs_contracting).push_back(static_cast<int64_t>(i));
  }
  const ValueId rhs = like(rhs_type);
  const double limit = bound(x) * bound(rhs) * std::max(1.0, depth);
  const DType to = product_type(dtype, random_);
  if (!fits(to, limit)) return ValueId::kNone;
  if (random_.chance(5)) attrs.precision = {Precision::kHighest, Precision::kDefault};
  std::vector<ValueId> operands = {x, rhs};
  if (random_.chance(30)) {
    std::swap(operands[0], operands[1]);
    std::swap(attrs.lhs_batch, attrs.rhs_batch);
    std::swap(attrs.lhs_contracting, attrs.rhs_contracting);
  }
  TensorType result = infer_types(fn_, OpCode::kDotGeneral, operands, attrs)[0].with_dtype(to);
  const OpId op = b_->create(OpCode::kDotGeneral, operands, {std::move(result)}, attrs);
  return known(fn_.op(op).results[0], limit);
}

// ---- sums

bool OpDrawer::is_sum(ValueId x) const {
  const Op* op = fn_.def(x);
  if (op == nullptr) return false;
  if (op->code == OpCode::kReduce || op->code == OpCode::kScatter) {
    return op->results.size() == 1 && reducer_of(fn_, op->regions[0]) == OpCode::kAdd;
  }
  return op->code == OpCode::kDotGeneral || op->code == OpCode::kConvolution;
}

ValueId OpDrawer::twin(ValueId x, ValueId scale) {
  const OpId op = fn_.value(x).def;
  const ValueId operand = fn_.op(op).operands[0];
  if (!facts_.contains(operand)) return ValueId::kNone;
  const double limit = bound(x) * bound(scale);
  if (!fits(type(x).dtype, 4 * limit) ||
      !fits(type(operand).dtype, bound(operand) * bound(scale))) {
    return ValueId::kNone;
  }
  ValueMap map;
  map[operand] =
      b_->binary(OpCode::kMultiply, operand, b_->broadcast(scale, type(operand).shape, {}));
  return known(fn_.op(clone_op(fn_, op, *b_, map)).results[0], limit);
}

void OpDrawer::linear_tail(ValueId x) {
  for (int64_t length = random_.pick(1, 3); length > 0 && x != ValueId::kNone; --length) {
    switch (random_.below(8)) {
      case 0:
        x = unary(x);
        break;
      case 1:
        x = transpose(x);
        break;
      case 2:
        x = reshape(x);
        break;
      case 3:
        x = slice(x);
        break;
      case 4:
        x = reduce(x);
        break;
      case 5:
        x = convert(x);
        break;
      default: {
        if (!is_sum(x)) return;
        const ValueId operand = fn_.def(x)->operands[0];
        const ValueId other = twin(x, scalar(type(operand).dtype, 2));
        if (other == ValueId::kNone) return;
        const bool add = is_unsigned_int(type(x).dtype) || random_.chance(70);
        x = known(b_->binary(add ? OpCode::kAdd : OpCode::kSubtract, x, other),
                  bound(x) + bound(other));
      }
    }
  }
}

}  // namespace spmd::testing
