#include <algorithm>

#include "ir/infer/checks.h"
#include "ir/infer/families.h"
#include "support/error.h"

namespace spmd::infer {
namespace {

// Sizes of the dimensions of `indices` other than the one that holds index vectors.
Dims index_batch(const TensorType& indices, int64_t index_vector_dim) {
  Dims batch;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != index_vector_dim) batch.push_back(indices.dim(d));
  }
  return batch;
}

void require_index_vectors(const TensorType& indices, int64_t index_vector_dim, size_t components) {
  require(is_integer(indices.dtype), "indices are not integers");
  require(index_vector_dim >= 0 && index_vector_dim <= indices.rank(),
          "index_vector_dim is out of range");
  const int64_t found = index_vector_dim == indices.rank() ? 1 : indices.dim(index_vector_dim);
  require(found == static_cast<int64_t>(components), "index vectors of {} components, expected {}",
          found, components);
}

TensorType infer_gather(const Types& in, const GatherAttrs& a) {
  require_count(in, 2);
  const TensorType &operand = in[0], &indices = in[1];
  require(a.slice_sizes.size() == operand.shape.size(),
          "gather needs one slice size per dimension");
  Dims gone = a.collapsed_slice_dims;
  gone.insert(gone.end(), a.operand_batching_dims.begin(), a.operand_batching_dims.end());
  require_dims(gone, operand.rank(), "gather dimension");
  require_dims(a.start_index_map, operand.rank(), "start_index_map entry");
  require(a.operand_batching_dims.size() == a.start_indices_batching_dims.size(),
          "batching dimensions of gather differ in number");
  require(a.index_vector_dim >= 0 && a.index_vector_dim <= indices.rank(),
          "index_vector_dim is out of range");
  require_dims(a.start_indices_batching_dims, indices.rank(), "batching dimension");
  require_index_vectors(indices, a.index_vector_dim, a.start_index_map.size());
  for (size_t i = 0; i < a.operand_batching_dims.size(); ++i) {
    const int64_t dim = a.operand_batching_dims[i];
    require(a.start_indices_batching_dims[i] != a.index_vector_dim &&
                operand.dim(dim) == indices.dim(a.start_indices_batching_dims[i]) &&
                a.slice_sizes[static_cast<size_t>(dim)] == std::min<int64_t>(1, operand.dim(dim)),
            "batching dimensions of gather differ in size, or their slices are not 1");
  }
  for (int64_t dim : a.collapsed_slice_dims) {
    require(a.slice_sizes[static_cast<size_t>(dim)] == 1, "a collapsed slice of gather is not 1");
  }
  Dims batch, window;
  for (int64_t d = 0; d < indices.rank(); ++d) {
    if (d != a.index_vector_dim) batch.push_back(indices.dim(d));
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const int64_t size = a.slice_sizes[static_cast<size_t>(d)];
    require(size >= 0 && size <= operand.dim(d), "a slice of gather is larger than its operand");
    if (std::find(gone.begin(), gone.end(), d) == gone.end()) window.push_back(size);
  }
  require(window.size() == a.offset_dims.size(), "offset_dims do not match the slices of gather");
  const auto rank = static_cast<int64_t>(batch.size() + window.size());
  require_dims(a.offset_dims, rank, "offset dimension");
  TensorType result{operand.dtype, Dims(static_cast<size_t>(rank), -1)};
  for (size_t i = 0; i < window.size(); ++i) {
    result.shape[static_cast<size_t>(a.offset_dims[i])] = window[i];
  }
  size_t next = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (std::find(a.offset_dims.begin(), a.offset_dims.end(), d) == a.offset_dims.end()) {
      result.shape[static_cast<size_t>(d)] = batch[next++];
    }
  }
  return result;
}

Types infer_scatter(const Types& in, const ScatterAttrs& a) {
  require(in.size() >= 3 && in.size() % 2 == 1, "scatter needs one update per operand");
  const size_t count = in.size() / 2;
  const TensorType &operand = in[0], &indices = in[count], &updates = in[count + 1];
  for (size_t i = 0; i < count; ++i) {
    require_same_shape(operand, in[i]);
    require_same_shape(updates, in[count + 1 + i]);
  }
  require_index_vectors(indices, a.index_vector_dim, a.scatter_dims_to_operand_dims.size());
  Dims gone = a.inserted_window_dims;
  gone.insert(gone.end(), a.input_batching_dims.begin(), a.input_batching_dims.end());
  require_dims(gone, operand.rank(), "inserted or batching dimension");
  require_dims(a.scatter_dims_to_operand_dims, operand.rank(),
               "scatter_dims_to_operand_dims entry");
  require_dims(a.update_window_dims, updates.rank(), "update window dimension");
  require_dims(a.scatter_indices_batching_dims, indices.rank(), "batching dimension");
  require(a.input_batching_dims.size() == a.scatter_indices_batching_dims.size(),
          "batching dimensions of scatter differ in number");
  const Dims batch = index_batch(indices, a.index_vector_dim);
  require(a.update_window_dims.size() + gone.size() == operand.shape.size() &&
              a.update_window_dims.size() + batch.size() == updates.shape.size(),
          "dimension numbers do not fit {} and updates {}", operand, updates);
  size_t next_batch = 0, next_window = 0;
  for (int64_t d = 0; d < updates.rank(); ++d) {
    const auto& window = a.update_window_dims;
    if (std::find(window.begin(), window.end(), d) != window.end()) continue;
    require(updates.dim(d) == batch[next_batch++], "updates do not match the indices");
  }
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::find(gone.begin(), gone.end(), d) != gone.end()) continue;
    require(updates.dim(a.update_window_dims[next_window++]) <= operand.dim(d),
            "an update window is larger than the operand");
  }
  for (size_t i = 0; i < a.input_batching_dims.size(); ++i) {
    require(a.scatter_indices_batching_dims[i] != a.index_vector_dim &&
                operand.dim(a.input_batching_dims[i]) ==
                    indices.dim(a.scatter_indices_batching_dims[i]),
            "batching dimensions of scatter differ in size");
  }
  return Types(in.begin(), in.begin() + static_cast<ptrdiff_t>(count));
}

}  // namespace

Types infer_indexing(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kDynamicSlice: {
      const Dims& sizes = std::get<DynamicSliceAttrs>(attrs).sizes;
      require(
          !in.empty() && in.size() == in[0].shape.size() + 1 && sizes.size() == in[0].shape.size(),
          "dynamic_slice needs one start index and size per dimension");
      for (size_t i = 0; i < sizes.size(); ++i) {
        require(sizes[i] >= 0 && sizes[i] <= in[0].shape[i],
                "size {} does not fit dimension {} of {}", sizes[i], i, in[0]);
      }
      return {in[0].with_shape(sizes)};
    }
    case OpCode::kDynamicUpdateSlice:
      require(in.size() >= 2 && in.size() == in[0].shape.size() + 2 &&
                  in[1].rank() == in[0].rank() && in[1].dtype == in[0].dtype,
              "dynamic_update_slice needs an update of equal rank and one start per dimension");
      for (size_t i = 0; i < in[0].shape.size(); ++i) {
        require(in[1].shape[i] <= in[0].shape[i], "the update is larger than the operand");
      }
      return {in[0]};
    case OpCode::kGather:
      return {infer_gather(in, std::get<GatherAttrs>(attrs))};
    case OpCode::kScatter:
      return infer_scatter(in, std::get<ScatterAttrs>(attrs));
    default:
      SPMD_UNREACHABLE("not an indexing op: {}", name_of(code));
  }
}

}  // namespace spmd::infer
