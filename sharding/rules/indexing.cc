#include <algorithm>

#include "ir/builder.h"
#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

bool contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

// Every rank finds in its block what the slice has of it; the sum over ranks is the slice.
void dynamic_slice(const Function& fn, const Op& op, FactorRule& rule) {
  const TensorType& operand = fn.type(op.operands[0]);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (fn.type(op.results[0]).dim(d) != operand.dim(d)) {
      put(rule.operands[0], d, rule.add_factor(operand.dim(d), FactorKind::kIndexed));
      continue;
    }
    const int factor = rule.add_factor(operand.dim(d));
    put(rule.operands[0], d, factor);
    put(rule.results[0], d, factor);
  }
  rule.linear_operands = {0};
}

// The only dimension along which the update is smaller than the operand, if it is placed there by a
// constant.
std::optional<int64_t> constant_update_dim(const Function& fn, const Op& op) {
  std::optional<int64_t> found;
  for (int64_t d = 0; d < fn.type(op.operands[0]).rank(); ++d) {
    if (fn.type(op.operands[0]).dim(d) == fn.type(op.operands[1]).dim(d)) continue;
    if (found) return std::nullopt;
    found = d;
  }
  if (!found) return std::nullopt;
  const Op* start = fn.def(op.operands[2 + static_cast<size_t>(*found)]);
  const bool constant = start != nullptr && start->code == OpCode::kConstant;
  return constant && fn.type(op.operands[1]).num_elements() > 0 ? found : std::nullopt;
}

// Every rank writes what falls into its block; an update at a constant place may be sharded too.
void dynamic_update_slice(const Function& fn, const Op& op, FactorRule& rule) {
  const TensorType& operand = fn.type(op.operands[0]);
  const std::optional<int64_t> constant = constant_update_dim(fn, op);
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const bool spans = fn.type(op.operands[1]).dim(d) == operand.dim(d);
    const int factor = spans           ? rule.add_factor(operand.dim(d))
                       : d == constant ? rule.add_exchanged(operand.dim(d))
                                       : rule.add_factor(operand.dim(d), FactorKind::kIndexed);
    put(rule.operands[0], d, factor);
    put(rule.results[0], d, factor);
    if (spans || d == constant) put(rule.operands[1], d, factor);
  }
  rule.linear_operands = {0, 1};
}

// Batch dimensions of the indices, in order.
std::vector<int64_t> index_batch_dims(const TensorType& indices, int64_t index_vector_dim) {
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != index_vector_dim) dims.push_back(d);
  }
  return dims;
}

void gather(const Function& fn, const Op& op, FactorRule& rule) {
  const auto& a = op.as<GatherAttrs>();
  const TensorType& operand = fn.type(op.operands[0]);
  const TensorType& indices = fn.type(op.operands[1]);
  const TensorType& result = fn.type(op.results[0]);
  // Batch dimensions of the result, in order, are those of the indices.
  const std::vector<int64_t> batch = index_batch_dims(indices, a.index_vector_dim);
  size_t next_batch = 0;
  std::vector<int> factor_of_index_dim(indices.shape.size(), -1);
  for (int64_t d = 0; d < result.rank(); ++d) {
    if (contains(a.offset_dims, d)) continue;
    const int64_t index_dim = batch[next_batch++];
    const int factor = rule.add_factor(result.dim(d));
    factor_of_index_dim[static_cast<size_t>(index_dim)] = factor;
    put(rule.operands[1], index_dim, factor);
    put(rule.results[0], d, factor);
  }
  for (size_t i = 0; i < a.operand_batching_dims.size(); ++i) {
    put(rule.operands[0], a.operand_batching_dims[i],
        factor_of_index_dim[static_cast<size_t>(a.start_indices_batching_dims[i])]);
  }
  size_t next_offset = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (contains(a.operand_batching_dims, d)) continue;
    const int64_t size = a.slice_sizes[static_cast<size_t>(d)];
    const bool collapsed = contains(a.collapsed_slice_dims, d);
    const int64_t result_dim = collapsed ? -1 : a.offset_dims[next_offset++];
    if (size == operand.dim(d) && !collapsed) {
      const int factor = rule.add_factor(size);
      put(rule.operands[0], d, factor);
      put(rule.results[0], result_dim, factor);
    } else if (contains(a.start_index_map, d)) {
      put(rule.operands[0], d, rule.add_factor(operand.dim(d), FactorKind::kIndexed));
    }
  }
  rule.linear_operands = {0};
}

void scatter(const Function& fn, const Op& op, FactorRule& rule) {
  const auto& a = op.as<ScatterAttrs>();
  const size_t count = op.results.size();
  const TensorType& operand = fn.type(op.operands[0]);
  const TensorType& indices = fn.type(op.operands[count]);
  const TensorType& updates = fn.type(op.operands[count + 1]);
  const std::optional<OpCode> reducer = count == 1 ? reducer_of(fn, op.regions[0]) : std::nullopt;
  const std::optional<ReductionKind> kind = reducer ? reduction_kind(*reducer) : std::nullopt;
  if (kind) rule.reduction = *kind;

  const auto put_all = [&](size_t first, int64_t dim, int factor) {
    for (size_t i = 0; i < count; ++i) put(rule.operands[first + i], dim, factor);
  };
  const auto put_results = [&](int64_t dim, int factor) {
    for (TensorFactors& result : rule.results) put(result, dim, factor);
  };
  const std::vector<int64_t> batch = index_batch_dims(indices, a.index_vector_dim);
  size_t next_batch = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    if (contains(a.update_window_dims, d)) continue;
    const int64_t index_dim = batch[next_batch++];
    const auto paired = std::find(a.scatter_indices_batching_dims.begin(),
                                  a.scatter_indices_batching_dims.end(), index_dim);
    const bool batching = paired != a.scatter_indices_batching_dims.end();
    const int factor = rule.add_factor(updates.dim(d), batching ? FactorKind::kPassThrough
                                                       : kind   ? FactorKind::kReduction
                                                                : FactorKind::kNeedReplication);
    put(rule.operands[count], index_dim, factor);
    put_all(count + 1, d, factor);
    if (batching) {
      const int64_t input_dim = a.input_batching_dims[static_cast<size_t>(
          paired - a.scatter_indices_batching_dims.begin())];
      put_all(0, input_dim, factor);
      put_results(input_dim, factor);
    }
  }
  size_t next_window = 0;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (contains(a.input_batching_dims, d)) continue;
    const bool inserted = contains(a.inserted_window_dims, d);
    const int64_t update_dim = inserted ? -1 : a.update_window_dims[next_window++];
    const bool indexed = contains(a.scatter_dims_to_operand_dims, d);
    // An index moves a window even where it spans the operand: what then stands out is dropped.
    if (!inserted && !indexed && updates.dim(update_dim) == operand.dim(d)) {
      const int factor = rule.add_factor(operand.dim(d));
      put_all(0, d, factor);
      put_all(count + 1, update_dim, factor);
      put_results(d, factor);
    } else if (indexed) {
      const int factor = rule.add_factor(operand.dim(d), FactorKind::kIndexed);
      put_all(0, d, factor);
      put_results(d, factor);
    }
  }
  if (kind) {
    rule.once_operands = {0};
    if (*kind == ReductionKind::kSum) rule.linear_operands = {0, 2};
  }
}

}  // namespace

FactorRule indexing(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  switch (op.code) {
    case OpCode::kDynamicSlice:
      dynamic_slice(fn, op, rule);
      break;
    case OpCode::kDynamicUpdateSlice:
      dynamic_update_slice(fn, op, rule);
      break;
    case OpCode::kGather:
      gather(fn, op, rule);
      break;
    case OpCode::kScatter:
      scatter(fn, op, rule);
      break;
    default:
      break;
  }
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
