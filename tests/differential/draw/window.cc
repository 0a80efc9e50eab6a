#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {
namespace {

WindowAttrs no_window(size_t rank) {
  const Dims ones(rank, 1), zeros(rank, 0);
  return {ones, ones, ones, ones, zeros, zeros};
}

}  // namespace

ValueId OpDrawer::reduce_window(ValueId x) {
  const size_t rank = type(x).shape.size();
  if (rank == 0 || type(x).num_elements() > 600) return ValueId::kNone;
  WindowAttrs w = no_window(rank);
  double count = 1;
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    if (random_.chance(40) && type(x).shape[d] > 0) {  // a running sum
      w.size[d] = type(x).shape[d];
      (random_.chance(70) ? w.pad_low : w.pad_high)[d] = w.size[d] - 1;
    } else {
      w.size[d] = random_.pick(1, random_.chance(20) ? 8 : 3);
      w.stride[d] = random_.pick(1, 3);
      w.pad_low[d] = random_.pick(-1, 3);
      w.pad_high[d] = random_.pick(-1, 3);
      w.window_dilation[d] = random_.chance(20) ? random_.pick(2, 3) : 1;
      w.base_dilation[d] = random_.chance(20) ? random_.pick(2, 3) : 1;
    }
    count *= static_cast<double>(w.size[d]);
  }
  if (type(x).dtype != DType::kBool && !rough(x) && random_.chance(15)) {
    return reduce_window_pair(x, w);
  }
  std::vector<ValueId> operands = {x}, inits;
  if (random_.chance(15)) operands.push_back(like(type(x).with_dtype(number())));
  std::vector<OpCode> codes;
  std::vector<double> limits;
  for (ValueId operand : operands) {
    codes.push_back(reducer(type(operand).dtype));
    inits.push_back(initial(codes.back(), type(operand).dtype));
    limits.push_back(reduced_bound(codes.back(), bound(operand), bound(inits.back()), count + 1) +
                     (codes.back() == OpCode::kAdd ? count * bound(inits.back()) : 0));
    if (!fits(type(operand).dtype, limits.back())) return ValueId::kNone;
  }
  const size_t n = operands.size();
  operands.insert(operands.end(), inits.begin(), inits.end());
  const OpId op = b_->create(OpCode::kReduceWindow, operands, w);
  reducers(op, codes);
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < n; ++i) last = known(fn_.op(op).results[i], limits[i]);
  return last;
}

// The largest element of a window and its number.
ValueId OpDrawer::reduce_window_pair(ValueId x, const WindowAttrs& w) {
  const DType dtype = type(x).dtype;
  const TensorType numbers = type(x).with_dtype(DType::kS32);
  const ValueId number =
      b_->reshape(b_->iota({DType::kS32, {numbers.num_elements()}}, 0), numbers.shape);
  // What it starts with may win.
  const ValueId init = random_.chance(50) ? firm_like({dtype, {}}) : scalar(dtype, low_end(dtype));
  const OpId op = b_->create(OpCode::kReduceWindow, {x, number, init, scalar(DType::kS32, -1)}, w);
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args;
  for (DType d : {dtype, DType::kS32, dtype, DType::kS32}) {
    args.push_back(fn_.add_block_argument(region, {d, {}}));
  }
  Builder inner(fn_, region);
  const ValueId first = inner.compare(CompareDirection::kGe, args[0], args[2]);
  inner.return_op({inner.select(first, args[0], args[2]), inner.select(first, args[1], args[3])});
  known(fn_.op(op).results[0], std::max(bound(x), bound(init)));
  return known(fn_.op(op).results[1], 4000);
}

ValueId OpDrawer::select_and_scatter(ValueId x) {
  const size_t rank = type(x).shape.size();
  const DType dtype = type(x).dtype;
  if (rank == 0 || dtype == DType::kBool || rough(x)) return ValueId::kNone;
  WindowAttrs w = no_window(rank);
  TensorType source_type = type(x);
  double overlap = 1;
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    const auto d = static_cast<size_t>(dim);
    w.size[d] = random_.pick(1, 3);
    w.stride[d] = random_.pick(1, 3);
    w.pad_low[d] = random_.pick(0, w.size[d]);
    w.pad_high[d] = random_.pick(0, w.size[d]);
    const int64_t padded = type(x).shape[d] + w.pad_low[d] + w.pad_high[d];
    if (type(x).shape[d] == 0 || padded < w.size[d]) return ValueId::kNone;
    source_type.shape[d] = (padded - w.size[d]) / w.stride[d] + 1;
    overlap *= static_cast<double>(w.size[d]);
  }
  const ValueId source = like(source_type);
  const OpCode code = random_.chance(70) ? OpCode::kAdd : OpCode::kMaximum;
  const ValueId init = random_.chance(70) ? scalar(dtype, 0) : like({dtype, {}});
  const double limit = overlap * bound(source) + (overlap + 1) * bound(init);
  if (!fits(dtype, limit)) return ValueId::kNone;
  const OpId op = b_->create(OpCode::kSelectAndScatter, {x, source, init}, w);
  const BlockId region = fn_.add_region(op);
  const ValueId lhs = fn_.add_block_argument(region, {dtype, {}});
  const ValueId rhs = fn_.add_block_argument(region, {dtype, {}});
  Builder inner(fn_, region);
  inner.return_op({inner.compare(random_.chance(70) ? CompareDirection::kGe : CompareDirection::kLe,
                                 lhs, rhs)});
  add_reducer_region(fn_, op, code, dtype);
  return known(fn_.op(op).results[0], limit);
}

}  // namespace spmd::testing
