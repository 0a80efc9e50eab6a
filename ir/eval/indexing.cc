// Slices at computed places. dynamic_slice, dynamic_update_slice and gather clamp their starts so
// that the slice lies inside; scatter drops the elements of updates that fall outside.
#include <algorithm>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"
#include "ir/eval/reducer.h"
#include "ir/eval/strided.h"

namespace spmd::eval {
namespace {

bool contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Dims clamped_starts(std::span<const Literal> starts, const Dims& shape, const Dims& sizes) {
  Dims result;
  for (size_t d = 0; d < starts.size(); ++d) {
    result.push_back(std::clamp<int64_t>(index_element(starts[d], 0), 0, shape[d] - sizes[d]));
  }
  return result;
}

// The dimensions of `rank` that are in none of the lists.
Dims other_dims(size_t rank, const Dims& a, const Dims& b = {}) {
  Dims dims;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d) {
    if (!contains(a, d) && !contains(b, d)) dims.push_back(d);
  }
  return dims;
}

Dims picked(const Dims& values, const Dims& dims) {
  Dims result;
  for (int64_t d : dims) result.push_back(values[at(d)]);
  return result;
}

// The start index vectors of a gather or scatter: where in the operand each slice starts.
class StartIndices {
 public:
  StartIndices(const Literal& indices, int64_t index_vector_dim, const Dims& index_map,
               const Dims& operand_batching_dims, const Dims& indices_batching_dims, size_t rank)
      : indices_(indices),
        vector_dim_(index_vector_dim),
        index_map_(index_map),
        operand_batching_dims_(operand_batching_dims),
        indices_batching_dims_(indices_batching_dims),
        strides_(row_major_strides(indices.type().shape)),
        rank_(rank) {}

  // Shape of the indices without the index vector.
  Dims batch_shape() const {
    Dims shape = indices_.type().shape;
    if (vector_dim_ < static_cast<int64_t>(shape.size())) shape.erase(shape.begin() + vector_dim_);
    return shape;
  }

  // The start in all operand dimensions for one batch index.
  Dims start(const Dims& batch_index) const {
    Dims full(rank_, 0);
    int64_t base = 0;
    for (size_t d = 0; d < batch_index.size(); ++d) {
      const bool after = static_cast<int64_t>(d) >= vector_dim_;
      base += batch_index[d] * strides_[after ? d + 1 : d];
    }
    const int64_t step =
        vector_dim_ < static_cast<int64_t>(strides_.size()) ? strides_[at(vector_dim_)] : 0;
    for (size_t i = 0; i < index_map_.size(); ++i) {
      full[at(index_map_[i])] = index_element(indices_, base + static_cast<int64_t>(i) * step);
    }
    for (size_t i = 0; i < operand_batching_dims_.size(); ++i) {
      const int64_t dim = indices_batching_dims_[i];
      full[at(operand_batching_dims_[i])] = batch_index[at(dim < vector_dim_ ? dim : dim - 1)];
    }
    return full;
  }

 private:
  const Literal& indices_;
  int64_t vector_dim_;
  const Dims& index_map_;
  const Dims& operand_batching_dims_;
  const Dims& indices_batching_dims_;
  Dims strides_;
  size_t rank_;
};

Literal gather(const Literal& operand, const Literal& indices, const GatherAttrs& attrs,
               const TensorType& type) {
  const Dims& shape = operand.type().shape;
  const StartIndices starts(indices, attrs.index_vector_dim, attrs.start_index_map,
                            attrs.operand_batching_dims, attrs.start_indices_batching_dims,
                            shape.size());
  const Dims window_dims =
      other_dims(shape.size(), attrs.collapsed_slice_dims, attrs.operand_batching_dims);
  const Dims window_shape = picked(attrs.slice_sizes, window_dims);
  const View from = view_of(operand), to = dense_view(type.shape);
  View window_from{0, picked(from.strides, window_dims)};
  View window_to{0, picked(to.strides, attrs.offset_dims)};
  const Dims batch_strides = picked(to.strides, other_dims(type.shape.size(), attrs.offset_dims));

  Literal result(type);
  std::byte* data = result.mutable_data();
  for_each_index(starts.batch_shape(), [&](const Dims& batch_index) {
    const Dims start = starts.start(batch_index);
    window_from.offset = window_to.offset = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t clamped = std::clamp<int64_t>(start[d], 0, shape[d] - attrs.slice_sizes[d]);
      window_from.offset += clamped * from.strides[d];
    }
    for (size_t d = 0; d < batch_index.size(); ++d) {
      window_to.offset += batch_index[d] * batch_strides[d];
    }
    copy_elements(window_shape, byte_size(type.dtype), operand.data(), window_from, data,
                  window_to);
  });
  return result;
}

// The part of an update window that lies inside the operand, as views of both.
struct ClippedWindow {
  Dims shape;
  View acc, update;
  bool empty = false;
};

class ScatterWindows {
 public:
  ScatterWindows(const ScatterAttrs& attrs, const Dims& operand_shape, const Dims& update_shape)
      : shape_(operand_shape),
        window_dims_(other_dims(operand_shape.size(), attrs.inserted_window_dims,
                                attrs.input_batching_dims)),
        window_shape_(picked(update_shape, attrs.update_window_dims)),
        strides_(row_major_strides(operand_shape)),
        update_strides_(row_major_strides(update_shape)),
        window_strides_(picked(update_strides_, attrs.update_window_dims)),
        batch_strides_(
            picked(update_strides_, other_dims(update_shape.size(), attrs.update_window_dims))) {}

  ClippedWindow clipped(const Dims& start, const Dims& batch_index) const {
    ClippedWindow window{window_shape_, {}, {0, window_strides_}, false};
    window.acc.strides = picked(strides_, window_dims_);
    for (size_t d = 0; d < batch_index.size(); ++d) {
      window.update.offset += batch_index[d] * batch_strides_[d];
    }
    Dims first = start;
    Dims last = start;  // of the window, in the operand
    for (size_t i = 0; i < window_dims_.size(); ++i) {
      const size_t d = at(window_dims_[i]);
      first[d] = std::max<int64_t>(start[d], 0);
      last[d] = std::min(start[d] + window_shape_[i], shape_[d]) - 1;
      window.shape[i] = last[d] - first[d] + 1;
      window.update.offset += (first[d] - start[d]) * window_strides_[i];
    }
    for (size_t d = 0; d < shape_.size(); ++d) {
      if (first[d] < 0 || last[d] >= shape_[d] || last[d] < first[d]) window.empty = true;
    }
    if (window.empty) return window;
    for (size_t d = 0; d < shape_.size(); ++d) window.acc.offset += first[d] * strides_[d];
    return window;
  }

 private:
  Dims shape_, window_dims_, window_shape_, strides_, update_strides_, window_strides_,
      batch_strides_;
};

Literals scatter(const Invocation& in) {
  const auto& attrs = in.attrs<ScatterAttrs>();
  const size_t n = in.operands.size() / 2;
  const Reducer reducer(in, in.op.regions[0]);
  const Dims& shape = in.operands[0].type().shape;
  Literals acc, updates;
  for (size_t i = 0; i < n; ++i) {
    acc.push_back(reducer.widened(std::move(in.operands[i]), i).expanded());
    updates.push_back(reducer.widened(in.operands[n + 1 + i], i).expanded());
  }
  const StartIndices starts(in.operands[n], attrs.index_vector_dim,
                            attrs.scatter_dims_to_operand_dims, attrs.input_batching_dims,
                            attrs.scatter_indices_batching_dims, shape.size());
  const ScatterWindows windows(attrs, shape, updates[0].type().shape);
  for_each_index(starts.batch_shape(), [&](const Dims& batch_index) {
    ClippedWindow window = windows.clipped(starts.start(batch_index), batch_index);
    if (window.empty) return;
    reducer.combine(std::move(window.shape), acc, std::move(window.acc), updates,
                    std::move(window.update));
  });
  Literals results;
  for (size_t i = 0; i < n; ++i) {
    results.push_back(Reducer::finished(acc[i], in.result_type(i).dtype));
  }
  return results;
}

}  // namespace

Literals eval_indexing(const Invocation& in) {
  const TensorType& type = in.result_type();
  const std::span<Literal> operands = in.operands;
  switch (in.op.code) {
    case OpCode::kDynamicSlice: {
      const Dims& sizes = in.attrs<DynamicSliceAttrs>().sizes;
      const Dims starts = clamped_starts(operands.subspan(1), operands[0].type().shape, sizes);
      return {slice_of(operands[0], starts, sizes)};
    }
    case OpCode::kDynamicUpdateSlice: {
      const Dims starts = clamped_starts(operands.subspan(2), type.shape, operands[1].type().shape);
      Literal result = std::move(operands[0]);
      write_slice(result, starts, operands[1]);
      return {std::move(result)};
    }
    case OpCode::kGather:
      return {gather(operands[0], operands[1], in.attrs<GatherAttrs>(), type)};
    case OpCode::kScatter:
      return scatter(in);
    default:
      SPMD_UNREACHABLE("{} is no indexing op", name_of(in.op.code));
  }
}

}  // namespace spmd::eval
