#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

DType OpDrawer::index_type() {
  return random_.chance(75)   ? DType::kS32
         : random_.chance(40) ? DType::kS64
                              : random_integer(random_);
}

// ---- dynamic slices

void OpDrawer::append_starts(const TensorType& operand, std::vector<ValueId>& operands) {
  const DType dtype = index_type();
  for (int64_t extent : operand.shape) {
    const double most = std::min(static_cast<double>(extent + 2), largest_integer(dtype) - 1);
    const double start =
        static_cast<double>(random_.pick(is_signed_int(dtype) ? -2 : 0, extent + 2));
    operands.push_back(random_.chance(50) ? firm_like({dtype, {}})
                                          : scalar(dtype, std::min(start, most)));
  }
}

ValueId OpDrawer::dynamic_slice(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  Dims sizes = type(x).shape;
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    int64_t& extent = sizes[static_cast<size_t>(dim)];
    extent = random_.pick(random_.chance(97) ? std::min<int64_t>(1, extent) : 0, extent);
  }
  std::vector<ValueId> operands = {x};
  append_starts(type(x), operands);
  return known(b_->value(OpCode::kDynamicSlice, operands, DynamicSliceAttrs{sizes}), bound(x));
}

ValueId OpDrawer::dynamic_update_slice(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  TensorType update = type(x);
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    int64_t& extent = update.shape[static_cast<size_t>(dim)];
    extent = random_.pick(random_.chance(97) ? std::min<int64_t>(1, extent) : 0, extent);
  }
  std::vector<ValueId> operands = {x, like(update)};
  const double limit = std::max(bound(x), bound(operands[1]));
  append_starts(type(x), operands);
  return known(b_->value(OpCode::kDynamicUpdateSlice, operands), limit);
}

// ---- gather and scatter

// Dimension numbers of a gather; a scatter's are the same under other names.
struct OpDrawer::IndexPlan {
  GatherAttrs attrs;
  TensorType indices, result;
  double batch = 1;  // index vectors
};

OpDrawer::IndexPlan OpDrawer::index_plan(const TensorType& operand) {
  IndexPlan plan;
  GatherAttrs& a = plan.attrs;
  Dims batch_sizes = shape(random_.pick(0, 2)), window;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t extent = operand.dim(d), kind = random_.below(10);
    if (kind < 1) {
      const int64_t at = random_.pick(0, static_cast<int64_t>(batch_sizes.size()));
      batch_sizes.insert(batch_sizes.begin() + at, extent);
      for (int64_t& dim : a.start_indices_batching_dims) dim += dim >= at;
      a.operand_batching_dims.push_back(d);
      a.start_indices_batching_dims.push_back(at);
      a.slice_sizes.push_back(std::min<int64_t>(1, extent));
    } else if (kind < 5 && extent > 0) {
      a.collapsed_slice_dims.push_back(d);
      a.start_index_map.push_back(d);
      a.slice_sizes.push_back(1);
    } else {
      const bool full = kind < 8;
      a.slice_sizes.push_back(full ? extent : random_.pick(std::min<int64_t>(1, extent), extent));
      window.push_back(a.slice_sizes.back());
      if (random_.chance(30)) a.start_index_map.push_back(d);
    }
  }
  if (a.start_index_map.empty()) return plan;
  random_.shuffle(a.start_index_map);
  const auto components = static_cast<int64_t>(a.start_index_map.size());
  const auto batch_rank = static_cast<int64_t>(batch_sizes.size());
  plan.indices = {index_type(), batch_sizes};
  a.index_vector_dim = random_.chance(70) ? batch_rank : random_.pick(0, batch_rank);
  if (components != 1 || a.index_vector_dim != batch_rank || random_.chance(50)) {
    plan.indices.shape.insert(plan.indices.shape.begin() + a.index_vector_dim, components);
    for (int64_t& dim : a.start_indices_batching_dims) dim += dim >= a.index_vector_dim;
  }
  const auto rank = batch_rank + static_cast<int64_t>(window.size());
  Dims order = some_dims(rank, rank);
  if (random_.chance(40)) {
    random_.shuffle(order);
  } else {
    std::reverse(order.begin(), order.end());
  }
  a.offset_dims.assign(order.begin(), order.begin() + static_cast<ptrdiff_t>(window.size()));
  std::sort(a.offset_dims.begin(), a.offset_dims.end());
  plan.result = {operand.dtype, Dims(static_cast<size_t>(rank), -1)};
  for (size_t i = 0; i < window.size(); ++i) {
    plan.result.shape[static_cast<size_t>(a.offset_dims[i])] = window[i];
  }
  size_t next = 0;
  for (int64_t& extent : plan.result.shape) {
    if (extent < 0) extent = batch_sizes[next++];
  }
  for (int64_t extent : batch_sizes) plan.batch *= static_cast<double>(extent);
  return plan;
}

ValueId OpDrawer::gather(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const IndexPlan plan = index_plan(type(x));
  if (plan.attrs.start_index_map.empty() || plan.result.num_elements() > 1500 ||
      plan.indices.num_elements() > 1500) {
    return ValueId::kNone;
  }
  return known(b_->value(OpCode::kGather, {x, firm_like(plan.indices)}, plan.attrs), bound(x));
}

ValueId OpDrawer::scatter(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  const IndexPlan plan = index_plan(type(x));
  if (plan.attrs.start_index_map.empty() || plan.result.num_elements() > 1500 ||
      plan.indices.num_elements() > 1500) {
    return ValueId::kNone;
  }
  const GatherAttrs& g = plan.attrs;
  ScatterAttrs attrs{g.offset_dims,           g.collapsed_slice_dims,
                     g.operand_batching_dims, g.start_indices_batching_dims,
                     g.start_index_map,       g.index_vector_dim};
  std::vector<ValueId> inputs = {x}, updates;
  if (random_.chance(15)) inputs.push_back(like(type(x).with_dtype(number())));
  std::vector<OpCode> codes;
  std::vector<double> limits;
  const bool replace = inputs.size() == 1 && random_.chance(30);
  for (ValueId input : inputs) {
    const DType dtype = type(input).dtype;
    updates.push_back(like(plan.result.with_dtype(dtype)));
    codes.push_back(reducer(dtype));
    limits.push_back(
        replace ? std::max(bound(input), bound(updates.back()))
                : reduced_bound(codes.back(), bound(updates.back()), bound(input), plan.batch));
    if (!fits(dtype, limits.back())) return ValueId::kNone;
  }
  ValueId indices;
  if (g.start_index_map.size() == 1 && plan.indices.rank() > 0 && random_.chance(20)) {
    // Each index once, and in order: what the flags promise.
    indices = b_->iota(plan.indices, 0);
    attrs.unique_indices = attrs.indices_are_sorted =
        plan.indices.num_elements() == plan.indices.dim(0);
  } else {
    indices = firm_like(plan.indices);
  }
  std::vector<ValueId> operands = inputs;
  operands.push_back(indices);
  operands.insert(operands.end(), updates.begin(), updates.end());
  const OpId op = b_->create(OpCode::kScatter, operands, attrs);
  if (replace) {
    const BlockId region = fn_.add_region(op);
    fn_.add_block_argument(region, {type(x).dtype, {}});
    const ValueId update = fn_.add_block_argument(region, {type(x).dtype, {}});
    Builder(fn_, region).return_op({update});
  } else {
    reducers(op, codes);
  }
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < inputs.size(); ++i) last = known(fn_.op(op).results[i], limits[i]);
  return last;
}

}  // namespace spmd::testing
