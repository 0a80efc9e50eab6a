#include <algorithm>

#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

// Scalars, all of one integer type.
void require_starts(const OpView& v, size_t first) {
  for (size_t i = first; i < v.op.operands.size(); ++i) {
    const TensorType& start = v.operand(i);
    v.require(start.rank() == 0 && is_integer(start.dtype),
              "start index {} is {}, expected a scalar integer", i - first, start);
    v.require(start == v.operand(first), "start indices are {} and {}, expected one type",
              v.operand(first), start);
  }
}

// A dimension's start comes from the index vector or from the batch, not from both.
void require_disjoint(const OpView& v, const Dims& index_map, const Dims& batching) {
  for (int64_t dim : batching) {
    v.require(std::find(index_map.begin(), index_map.end(), dim) == index_map.end(),
              "dimension {} is both indexed and a batching dimension", dim);
  }
}

void verify_gather(const OpView& v) {
  const auto& attrs = v.op.as<GatherAttrs>();
  v.require_ascending("offset_dims", attrs.offset_dims);
  v.require_ascending("collapsed_slice_dims", attrs.collapsed_slice_dims);
  v.require_ascending("operand_batching_dims", attrs.operand_batching_dims);
  require_disjoint(v, attrs.start_index_map, attrs.operand_batching_dims);
}

void verify_scatter(const OpView& v) {
  const auto& attrs = v.op.as<ScatterAttrs>();
  v.require_ascending("update_window_dims", attrs.update_window_dims);
  v.require_ascending("inserted_window_dims", attrs.inserted_window_dims);
  v.require_ascending("input_batching_dims", attrs.input_batching_dims);
  require_disjoint(v, attrs.scatter_dims_to_operand_dims, attrs.input_batching_dims);
  const size_t count = v.op.results.size();
  std::vector<DType> accumulators;
  for (size_t i = 0; i < count; ++i) {
    const TensorType &operand = v.operand(i), &update = v.operand(count + 1 + i);
    v.require(operand.dtype == update.dtype, "update {} is {}, expected elements of {}", i, update,
              operand.dtype);
    accumulators.push_back(operand.dtype);
  }
  v.require_reducer(0, accumulators);
}

}  // namespace

void verify_indexing(const OpView& v) {
  switch (v.op.code) {
    case OpCode::kDynamicSlice:
      return require_starts(v, 1);
    case OpCode::kDynamicUpdateSlice:
      return require_starts(v, 2);
    case OpCode::kGather:
      return verify_gather(v);
    case OpCode::kScatter:
      return verify_scatter(v);
    default:
      return;
  }
}

}  // namespace spmd::verifier
