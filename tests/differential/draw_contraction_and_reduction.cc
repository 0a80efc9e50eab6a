#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// ---- reduction

OpCode OpDrawer::reducer(DType dtype) {
  if (dtype == DType::kBool) return random_.chance(50) ? OpCode::kAnd : OpCode::kOr;
  return random_.of(std::vector{OpCode::kAdd, OpCode::kAdd, OpCode::kMaximum, OpCode::kMinimum});
}

// What a reduction starts with: its identity as far as the values go, or something that counts.
ValueId OpDrawer::initial(OpCode reducer, DType dtype) {
  if (random_.chance(20)) return like({dtype, {}});
  if (random_.chance(10)) return scalar(dtype, 1);
  switch (reducer) {
    case OpCode::kMaximum:
      return scalar(dtype, -4000);
    case OpCode::kMinimum:
      return scalar(dtype, 4000);
    case OpCode::kAnd:
      return scalar(dtype, 1);
    default:
      return scalar(dtype, 0);
  }
}

ValueId OpDrawer::reduce(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const Dims dims = some_dims(type(x).rank(), 1);
  const OpCode code = reducer(type(x).dtype);
  const ValueId init = initial(code, type(x).dtype);
  double count = 1;
  for (int64_t dim : dims) count *= static_cast<double>(type(x).dim(dim));
  const double limit =
      code == OpCode::kAdd ? bound(x) * count + bound(init) : std::max(bound(x), bound(init));
  return known(b_->reduce(x, init, dims, code), limit);
}

// The largest element and where it is.
ValueId OpDrawer::reduce_pair(ValueId x) {
  if (type(x).rank() == 0 || type(x).dtype == DType::kBool) return ValueId::kNone;
  const int64_t dim = random_.below(type(x).rank());
  const DType dtype = type(x).dtype;
  const ValueId index = b_->iota(type(x).with_dtype(DType::kS32), dim);
  const OpId op =
      b_->create(OpCode::kReduce, {x, index, scalar(dtype, -4000), scalar(DType::kS32, 0)},
                 ReduceAttrs{{dim}});
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args;
  for (DType d : {dtype, DType::kS32, dtype, DType::kS32}) {
    args.push_back(fn_.add_block_argument(region, {d, {}}));
  }
  Builder inner(fn_, region);
  const ValueId first = inner.compare(CompareDirection::kGe, args[0], args[2]);
  inner.return_op({inner.select(first, args[0], args[2]), inner.select(first, args[1], args[3])});
  known(fn_.op(op).results[0], std::max(bound(x), 4000.0));
  return known(fn_.op(op).results[1], 13);
}

// ---- contraction

ValueId OpDrawer::dot(ValueId x) {
  const int64_t rank = type(x).rank();
  if (type(x).dtype == DType::kBool || rank == 0) return ValueId::kNone;
  DotAttrs attrs;
  struct Dim {
    int64_t size, lhs;
    char kind;
  };
  std::vector<Dim> rhs_dims;
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
  TensorType rhs_type{type(x).dtype, {}};
  for (const Dim& dim : rhs_dims) rhs_type.shape.push_back(dim.size);
  if (rhs_type.num_elements() > 1000) return ValueId::kNone;
  for (size_t i = 0; i < rhs_dims.size(); ++i) {
    if (rhs_dims[i].kind == 'f') continue;
    const bool batch = rhs_dims[i].kind == 'b';
    (batch ? attrs.lhs_batch : attrs.lhs_contracting).push_back(rhs_dims[i].lhs);
    (batch ? attrs.rhs_batch : attrs.rhs_contracting).push_back(static_cast<int64_t>(i));
  }
  const ValueId rhs = like(rhs_type);
  const double limit = bound(x) * bound(rhs) * std::max(1.0, depth);
  if (!exact(limit)) return ValueId::kNone;
  if (random_.chance(30)) {
    std::swap(attrs.lhs_batch, attrs.rhs_batch);
    std::swap(attrs.lhs_contracting, attrs.rhs_contracting);
    return known(b_->value(OpCode::kDotGeneral, {rhs, x}, attrs), limit);
  }
  return known(b_->value(OpCode::kDotGeneral, {x, rhs}, attrs), limit);
}

// ---- convolution

ValueId OpDrawer::convolution(ValueId x) {
  if (type(x).rank() != 3 && type(x).rank() != 4) {
    x = argument({DType::kF32, shape(random_.pick(3, 4))});
  }
  if (type(x).dtype == DType::kBool) return ValueId::kNone;
  const int64_t rank = type(x).rank();
  ConvolutionAttrs a;
  const auto layout = [&](int64_t& first, int64_t& second, Dims& spatial) {
    Dims order = some_dims(rank, rank);
    if (random_.chance(60)) random_.shuffle(order);
    first = order[0];
    second = order[1];
    spatial.assign(order.begin() + 2, order.end());
  };
  layout(a.input_batch, a.input_feature, a.input_spatial);
  layout(a.kernel_input_feature, a.kernel_output_feature, a.kernel_spatial);
  layout(a.output_batch, a.output_feature, a.output_spatial);
  const auto divisor = [&](int64_t of) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= of; ++d) {
      if (of % d == 0) divisors.push_back(d);
    }
    return divisors.empty() ? 1 : random_.of(divisors);
  };
  const int64_t batch = type(x).dim(a.input_batch), features = type(x).dim(a.input_feature);
  if (batch == 0 || features == 0) return ValueId::kNone;
  if (random_.chance(30))
    a.feature_group_count = divisor(features);
  else if (random_.chance(20))
    a.batch_group_count = divisor(batch);
  TensorType kernel{type(x).dtype, Dims(static_cast<size_t>(rank), 1)};
  const auto set = [&](int64_t dim, int64_t extent) {
    kernel.shape[static_cast<size_t>(dim)] = extent;
  };
  set(a.kernel_input_feature, features / a.feature_group_count);
  set(a.kernel_output_feature, a.feature_group_count * a.batch_group_count * random_.pick(1, 4));
  for (int64_t dim : a.kernel_spatial) {
    set(dim, random_.pick(1, 3));
    a.stride.push_back(random_.pick(1, 2));
    a.pad_low.push_back(random_.pick(0, 2));
    a.pad_high.push_back(random_.pick(0, 2));
    a.lhs_dilation.push_back(random_.chance(15) ? 2 : 1);
    a.rhs_dilation.push_back(random_.chance(15) ? 2 : 1);
    a.reversal.push_back(random_.chance(15));
  }
  if (kernel.num_elements() > 1000) return ValueId::kNone;
  const ValueId weights = like(kernel);
  const double limit =
      bound(x) * bound(weights) * static_cast<double>(std::max<int64_t>(1, kernel.num_elements()));
  if (!exact(limit)) return ValueId::kNone;
  return known(b_->value(OpCode::kConvolution, {x, weights}, a), limit);
}

// ---- sums

bool OpDrawer::is_sum(ValueId x) const {
  const Op* op = fn_.def(x);
  if (op == nullptr) return false;
  if (op->code == OpCode::kReduce) return reducer_of(fn_, op->regions[0]) == OpCode::kAdd;
  return op->code == OpCode::kDotGeneral || op->code == OpCode::kConvolution;
}

ValueId OpDrawer::twin(ValueId x, ValueId scale) {
  const OpId op = fn_.value(x).def;
  const ValueId operand = fn_.op(op).operands[0];
  if (bound(x) * bound(scale) > 1 << 18) return ValueId::kNone;
  ValueMap map;
  map[operand] =
      b_->binary(OpCode::kMultiply, operand, b_->broadcast(scale, type(operand).shape, {}));
  return known(fn_.op(clone_op(fn_, op, *b_, map)).results[0], bound(x) * bound(scale));
}

void OpDrawer::linear_tail(ValueId x) {
  for (int64_t length = random_.pick(1, 3); length > 0 && x != ValueId::kNone; --length) {
    switch (random_.below(8)) {
      case 0:
        x = known(b_->value(OpCode::kNegate, {x}), bound(x));
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
        const ValueId other = twin(x, scalar(type(x).dtype, 2));
        if (other == ValueId::kNone) return;
        const OpCode code = random_.chance(70) ? OpCode::kAdd : OpCode::kSubtract;
        x = known(b_->binary(code, x, other), bound(x) + bound(other));
      }
    }
  }
}

// ---- window

ValueId OpDrawer::reduce_window(ValueId x) {
  const size_t rank = type(x).shape.size();
  if (rank == 0 || type(x).num_elements() == 0) return ValueId::kNone;
  const Dims ones(rank, 1), zeros(rank, 0);
  WindowAttrs w{ones, ones, ones, ones, zeros, zeros};
  double count = 1;
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    if (random_.chance(50)) {  // a running sum
      w.size[d] = type(x).shape[d];
      (random_.chance(70) ? w.pad_low : w.pad_high)[d] = w.size[d] - 1;
    } else {
      w.size[d] = random_.pick(1, 3);
      w.stride[d] = random_.pick(1, 2);
      w.pad_low[d] = random_.pick(0, 2);
      w.pad_high[d] = random_.pick(0, 2);
      w.window_dilation[d] = random_.chance(15) ? 2 : 1;
      w.base_dilation[d] = random_.chance(15) ? 2 : 1;
    }
    count *= static_cast<double>(w.size[d]);
  }
  const DType dtype = type(x).dtype;
  const OpCode code = reducer(dtype);
  const ValueId init = initial(code, dtype);
  const double limit = (bound(x) + bound(init)) * (code == OpCode::kAdd ? count + 1 : 1);
  const OpId op = b_->create(OpCode::kReduceWindow, {x, init}, w);
  add_reducer_region(fn_, op, code, dtype);
  return known(fn_.op(op).results[0], limit);
}

ValueId OpDrawer::select_and_scatter(ValueId x) {
  const size_t rank = type(x).shape.size();
  if (rank == 0 || !is_float(type(x).dtype)) return ValueId::kNone;
  const Dims ones(rank, 1), zeros(rank, 0);
  WindowAttrs w{ones, ones, ones, ones, zeros, zeros};
  const auto d = static_cast<size_t>(random_.below(type(x).rank()));
  if (type(x).shape[d] < 2) return ValueId::kNone;
  w.size[d] = 2;
  w.stride[d] = random_.pick(1, 2);
  TensorType source_type = type(x);
  source_type.shape[d] = (type(x).shape[d] - 2) / w.stride[d] + 1;
  const ValueId source = like(source_type);
  const OpId op = b_->create(OpCode::kSelectAndScatter, {x, source, scalar(type(x).dtype, 0)}, w);
  const BlockId region = fn_.add_region(op);
  const ValueId lhs = fn_.add_block_argument(region, {type(x).dtype, {}});
  const ValueId rhs = fn_.add_block_argument(region, {type(x).dtype, {}});
  Builder inner(fn_, region);
  inner.return_op({inner.compare(CompareDirection::kGe, lhs, rhs)});
  add_reducer_region(fn_, op, OpCode::kAdd, type(x).dtype);
  return known(fn_.op(op).results[0], 2 * bound(source));
}

}  // namespace spmd::testing
