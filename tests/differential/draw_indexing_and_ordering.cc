#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// ---- dynamic slices

ValueId OpDrawer::dynamic_slice(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  Dims sizes = type(x).shape;
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    int64_t& extent = sizes[static_cast<size_t>(dim)];
    extent = random_.pick(std::min<int64_t>(1, extent), extent);
  }
  std::vector<ValueId> operands = {x};
  for (int64_t extent : type(x).shape) {
    operands.push_back(random_.chance(50) ? like({DType::kS32, {}})
                                          : scalar(DType::kS32, static_cast<double>(
                                                                    random_.pick(-2, extent + 2))));
  }
  return known(b_->value(OpCode::kDynamicSlice, operands, DynamicSliceAttrs{sizes}), bound(x));
}

ValueId OpDrawer::dynamic_update_slice(ValueId x) {
  if (type(x).rank() == 0) return ValueId::kNone;
  TensorType update = type(x);
  for (int64_t dim : some_dims(type(x).rank(), 1)) {
    int64_t& extent = update.shape[static_cast<size_t>(dim)];
    extent = random_.pick(std::min<int64_t>(1, extent), extent);
  }
  std::vector<ValueId> operands = {x, like(update)};
  const double limit = std::max(bound(x), bound(operands[1]));
  for (int64_t extent : type(x).shape) {
    operands.push_back(random_.chance(50) ? like({DType::kS32, {}})
                                          : scalar(DType::kS32, static_cast<double>(
                                                                    random_.pick(-2, extent + 2))));
  }
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
    if (kind < 1 && extent > 0) {
      const int64_t at = random_.pick(0, static_cast<int64_t>(batch_sizes.size()));
      batch_sizes.insert(batch_sizes.begin() + at, extent);
      for (int64_t& dim : a.start_indices_batching_dims) dim += dim >= at;
      a.operand_batching_dims.push_back(d);
      a.start_indices_batching_dims.push_back(at);
      a.slice_sizes.push_back(1);
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
  plan.indices = {DType::kS32, batch_sizes};
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
  return known(b_->value(OpCode::kGather, {x, like(plan.indices)}, plan.attrs), bound(x));
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
  const ValueId indices = like(plan.indices), updates = like(plan.result);
  const DType dtype = type(x).dtype;
  const bool replace = random_.chance(30);
  const OpCode code = reducer(dtype);
  const OpId op = b_->create(OpCode::kScatter, {x, indices, updates}, attrs);
  if (replace) {
    const BlockId region = fn_.add_region(op);
    fn_.add_block_argument(region, {dtype, {}});
    const ValueId update = fn_.add_block_argument(region, {dtype, {}});
    Builder(fn_, region).return_op({update});
  } else {
    add_reducer_region(fn_, op, code, dtype);
  }
  const double terms = !replace && code == OpCode::kAdd ? plan.batch : 1;
  return known(fn_.op(op).results[0], bound(x) + terms * bound(updates));
}

// ---- ordering

void OpDrawer::comparator(OpId op, const std::vector<DType>& dtypes, CompareDirection direction) {
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args;
  for (DType dtype : dtypes) {
    for (int side = 0; side < 2; ++side) {
      args.push_back(fn_.add_block_argument(region, {dtype, {}}));
    }
  }
  Builder inner(fn_, region);
  inner.return_op({inner.compare(direction, args[0], args[1])});
}

ValueId OpDrawer::sort(ValueId x) {
  if (type(x).rank() == 0 || type(x).dtype == DType::kBool) return ValueId::kNone;
  std::vector<ValueId> operands = {x};
  std::vector<DType> dtypes = {type(x).dtype};
  if (random_.chance(50)) {
    dtypes.push_back(number());
    operands.push_back(like(type(x).with_dtype(dtypes.back())));
  }
  const OpId op =
      b_->create(OpCode::kSort, operands, SortAttrs{random_.below(type(x).rank()), true});
  comparator(op, dtypes, random_.chance(50) ? CompareDirection::kLt : CompareDirection::kGt);
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < operands.size(); ++i) {
    last = known(fn_.op(op).results[i], bound(operands[i]));
  }
  return last;
}

ValueId OpDrawer::top_k(ValueId x) {
  if (type(x).rank() == 0 || type(x).shape.back() == 0) return ValueId::kNone;
  // Of integers: the order of zeros of different sign depends on the order of additions.
  x = like(type(x).with_dtype(DType::kS32));
  const int64_t k = random_.pick(1, type(x).shape.back());
  const OpId op = b_->create(OpCode::kTopK, {x}, TopKAttrs{k});
  known(fn_.op(op).results[0], bound(x));
  return known(fn_.op(op).results[1], 13);
}

ValueId OpDrawer::random_bits(ValueId x) {
  const ValueId state = argument({DType::kU64, {2}});
  pool_.pop_back();  // of no use to others
  const TensorType bits = type(x).with_dtype(DType::kU32);
  const OpId op = b_->create(OpCode::kRngBitGenerator, {state}, {type(state), bits},
                             RngBitGeneratorAttrs{RngAlgorithm::kThreeFry});
  const ValueId low = b_->binary(OpCode::kAnd, fn_.op(op).results[1], b_->splat(bits, 7));
  return known(b_->convert(low, DType::kS32), 7);
}

}  // namespace spmd::testing
