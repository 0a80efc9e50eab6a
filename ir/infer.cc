// Result types, by op family.
#include <algorithm>

#include "ir/builder.h"
#include "ir/type_format.h"
#include "support/error.h"

namespace spmd {
namespace {

using Types = std::vector<TensorType>;

[[noreturn]] void reject(const std::string& fact) { throw UserError({}, fact); }

void require(bool condition, const char* fact) {
  if (!condition) [[unlikely]]
    reject(fact);
}

// Formats the fact only when it is needed: this runs for every op that is created or verified.
template <typename... Args>
void require(bool condition, fmt::format_string<const Args&...> fact,
             const Args&... args) requires(sizeof...(Args) > 0) {
  if (!condition) [[unlikely]]
    reject(fmt::format(fact, args...));
}

void require_count(const Types& in, size_t count) {
  require(in.size() == count, "found {} operands, expected {}", in.size(), count);
}

void require_same_shape(const TensorType& a, const TensorType& b) {
  require(a.shape == b.shape, "shapes of {} and {} differ", a, b);
}

void require_dim(int64_t dim, int64_t rank, const char* what) {
  require(dim >= 0 && dim < rank, "{} {} is out of range for rank {}", what, dim, rank);
}

void require_dims(const Dims& dims, int64_t rank, const char* what) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (int64_t dim : dims) {
    require_dim(dim, rank, what);
    require(!seen[static_cast<size_t>(dim)], "{} {} occurs twice", what, dim);
    seen[static_cast<size_t>(dim)] = true;
  }
}

// Attributes beyond this belong to no tensor that fits in memory; sums of a few below it do not
// overflow.
constexpr int64_t kLargest = kMaxTensorBytes;
// Of strides and dilations, which are multiplied by strides of elements.
constexpr int64_t kLargestStep = int64_t{1} << 31;

int64_t dilated(int64_t size, int64_t dilation) {
  if (size == 0) return 0;
  require(size - 1 <= kLargest / dilation, "a size of {} dilated by {} is too large", size,
          dilation);
  return (size - 1) * dilation + 1;
}

void require_padding(int64_t low, int64_t high) {
  require(low >= -kLargest && low <= kLargest && high >= -kLargest && high <= kLargest,
          "padding of {} and {} is too large", low, high);
}

// Number of window positions along a dimension.
int64_t window_positions(int64_t size, int64_t window, int64_t stride, int64_t low, int64_t high,
                         int64_t base_dilation, int64_t window_dilation) {
  require(stride > 0 && base_dilation > 0 && window_dilation > 0 && window > 0,
          "window sizes, strides and dilations must be positive");
  require(
      stride <= kLargestStep && base_dilation <= kLargestStep && window_dilation <= kLargestStep,
      "strides of {} or dilations of {} and {} are too large", stride, base_dilation,
      window_dilation);
  require_padding(low, high);
  const int64_t padded = low + dilated(size, base_dilation) + high;
  const int64_t extent = dilated(window, window_dilation);
  return padded < extent ? 0 : (padded - extent) / stride + 1;
}

// Of the parts of complex numbers; other types are their own.
DType real_type(DType dtype) {
  return dtype == DType::kC64 ? DType::kF32 : dtype == DType::kC128 ? DType::kF64 : dtype;
}

TensorType infer_elementwise(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kSelect:
      require_count(in, 3);
      require(in[0].dtype == DType::kBool, "the predicate of select must be i1");
      require_same_shape(in[1], in[2]);
      if (in[0].rank() != 0) require_same_shape(in[0], in[1]);
      return in[1];
    case OpCode::kClamp:
      require_count(in, 3);
      if (in[0].rank() != 0) require_same_shape(in[0], in[1]);
      if (in[2].rank() != 0) require_same_shape(in[2], in[1]);
      return in[1];
    case OpCode::kCompare:
      require_count(in, 2);
      require_same_shape(in[0], in[1]);
      require(in[0].dtype == in[1].dtype, "compare of different element types");
      return in[0].with_dtype(DType::kBool);
    case OpCode::kIsFinite:
      require_count(in, 1);
      return in[0].with_dtype(DType::kBool);
    case OpCode::kAbs:
    case OpCode::kImag:
    case OpCode::kReal:
      require_count(in, 1);
      return in[0].with_dtype(real_type(in[0].dtype));
    case OpCode::kComplex:
      require_count(in, 2);
      require(in[0] == in[1] && (in[0].dtype == DType::kF32 || in[0].dtype == DType::kF64),
              "complex needs two operands of one type, of element type f32 or f64");
      return in[0].with_dtype(in[0].dtype == DType::kF32 ? DType::kC64 : DType::kC128);
    case OpCode::kAdd:
    case OpCode::kAnd:
    case OpCode::kAtan2:
    case OpCode::kDivide:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kMultiply:
    case OpCode::kOr:
    case OpCode::kPolygamma:
    case OpCode::kPower:
    case OpCode::kRemainder:
    case OpCode::kShiftLeft:
    case OpCode::kShiftRightArithmetic:
    case OpCode::kShiftRightLogical:
    case OpCode::kSubtract:
    case OpCode::kXor:
    case OpCode::kZeta:
      require_count(in, 2);
      require(in[0] == in[1], "operand types {} and {} differ", in[0], in[1]);
      return in[0];
    default:
      require_count(in, 1);
      return in[0];
  }
}

TensorType infer_concatenate(const Types& in, const ConcatenateAttrs& attrs) {
  require(!in.empty(), "concatenate needs an operand");
  TensorType result = in[0];
  require_dim(attrs.dim, result.rank(), "dimension");
  const auto at = static_cast<size_t>(attrs.dim);
  for (size_t i = 1; i < in.size(); ++i) {
    require(in[i].rank() == result.rank() && in[i].dtype == result.dtype,
            "concatenate of different ranks or element types");
    for (size_t d = 0; d < result.shape.size(); ++d) {
      require(d == at || in[i].shape[d] == result.shape[d],
              "concatenate of {} and {} along dimension {}", in[0], in[i], attrs.dim);
    }
    result.shape[at] += in[i].shape[at];
    require(result.shape[at] <= kLargest, "concatenate to a size of {}, which is too large",
            result.shape[at]);
  }
  return result;
}

TensorType infer_pad(const Types& in, const PadAttrs& attrs) {
  require_count(in, 2);
  TensorType result = in[0];
  const size_t rank = result.shape.size();
  require(attrs.low.size() == rank && attrs.high.size() == rank && attrs.interior.size() == rank,
          "pad needs one low, high and interior per dimension");
  for (size_t i = 0; i < rank; ++i) {
    require(attrs.interior[i] >= 0 && attrs.interior[i] < kLargestStep,
            "interior padding of {} is negative or too large", attrs.interior[i]);
    require_padding(attrs.low[i], attrs.high[i]);
    result.shape[i] =
        attrs.low[i] + dilated(result.shape[i], attrs.interior[i] + 1) + attrs.high[i];
    require(result.shape[i] >= 0, "pad to a negative size");
  }
  return result;
}

TensorType infer_slice(const Types& in, const SliceAttrs& attrs) {
  require_count(in, 1);
  TensorType result = in[0];
  const size_t rank = result.shape.size();
  require(attrs.start.size() == rank && attrs.limit.size() == rank && attrs.stride.size() == rank,
          "slice needs one start, limit and stride per dimension");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = attrs.start[i], limit = attrs.limit[i], stride = attrs.stride[i];
    require(start >= 0 && start <= limit && limit <= result.shape[i] && stride > 0,
            "slice [{}:{}:{}] does not fit dimension {} of {}", start, limit, stride, i, in[0]);
    require(stride <= kLargestStep, "a stride of {} is too large", stride);
    result.shape[i] = limit == start ? 0 : (limit - start - 1) / stride + 1;
  }
  return result;
}

TensorType infer_transpose(const Types& in, const TransposeAttrs& attrs) {
  require_count(in, 1);
  require(attrs.permutation.size() == in[0].shape.size(),
          "the permutation has not one entry per dimension");
  require_dims(attrs.permutation, in[0].rank(), "permutation entry");
  TensorType result = in[0];
  for (size_t i = 0; i < result.shape.size(); ++i)
    result.shape[i] = in[0].dim(attrs.permutation[i]);
  return result;
}

TensorType infer_dot(const Types& in, const DotAttrs& attrs) {
  require_count(in, 2);
  const TensorType &lhs = in[0], &rhs = in[1];
  require(attrs.lhs_batch.size() == attrs.rhs_batch.size() &&
              attrs.lhs_contracting.size() == attrs.rhs_contracting.size(),
          "batching or contracting dimensions differ in number");
  const auto side = [](const TensorType& type, const Dims& batch, const Dims& contracting) {
    Dims used = batch;
    used.insert(used.end(), contracting.begin(), contracting.end());
    require_dims(used, type.rank(), "dot dimension");
    return used;
  };
  const Dims lhs_used = side(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const Dims rhs_used = side(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  for (size_t i = 0; i < lhs_used.size(); ++i) {
    require(lhs.dim(lhs_used[i]) == rhs.dim(rhs_used[i]),
            "dot dimension {} of {} and {} of {} differ in size", lhs_used[i], lhs, rhs_used[i],
            rhs);
  }
  TensorType result{lhs.dtype, {}};
  for (int64_t dim : attrs.lhs_batch) result.shape.push_back(lhs.dim(dim));
  const auto append_free = [&](const TensorType& type, const Dims& used) {
    for (int64_t dim = 0; dim < type.rank(); ++dim) {
      if (std::find(used.begin(), used.end(), dim) == used.end()) {
        result.shape.push_back(type.dim(dim));
      }
    }
  };
  append_free(lhs, lhs_used);
  append_free(rhs, rhs_used);
  return result;
}

TensorType infer_fft(const Types& in, const FftAttrs& attrs) {
  require_count(in, 1);
  const bool real_input = attrs.kind == FftKind::kRfft;
  TensorType result = in[0];
  const size_t rank = result.shape.size(), count = attrs.length.size();
  require(real_input ? in[0].dtype == DType::kF32 || in[0].dtype == DType::kF64
                     : is_complex(in[0].dtype),
          "{} cannot be transformed: RFFT takes f32 or f64, the others complex numbers", in[0]);
  require(count >= 1 && count <= 3 && count <= rank,
          "{} lengths for {}, expected 1 to 3 and no more than dimensions", count, in[0]);
  for (size_t i = 0; i < count; ++i) {
    const bool halved = attrs.kind == FftKind::kIrfft && i + 1 == count;
    const int64_t expected = halved ? attrs.length[i] / 2 + 1 : attrs.length[i];
    int64_t& size = result.shape[rank - count + i];
    require(size == expected || (halved && attrs.length[i] == 0 && size == 0),
            "length {} does not fit dimension {} of {}", attrs.length[i], rank - count + i, in[0]);
    size = attrs.length[i];
  }
  if (real_input) {
    int64_t& last = result.shape.back();
    last = last == 0 ? 0 : last / 2 + 1;
    return result.with_dtype(in[0].dtype == DType::kF32 ? DType::kC64 : DType::kC128);
  }
  return attrs.kind == FftKind::kIrfft ? result.with_dtype(real_type(in[0].dtype)) : result;
}

// The size of the square matrices in the innermost dimensions.
int64_t require_square(const TensorType& type) {
  const size_t rank = type.shape.size();
  require(rank >= 2 && type.shape[rank - 1] == type.shape[rank - 2],
          "{} does not hold square matrices", type);
  require(is_float(type.dtype) || is_complex(type.dtype),
          "expected floats or complex numbers, found {}", type);
  return type.shape.back();
}

TensorType infer_linalg(OpCode code, const Types& in, const Attrs& attrs) {
  if (code == OpCode::kFft) return infer_fft(in, std::get<FftAttrs>(attrs));
  if (code == OpCode::kCholesky) {
    require_count(in, 1);
    require_square(in[0]);
    return in[0];
  }
  require_count(in, 2);
  const TensorType &a = in[0], &b = in[1];
  const int64_t size = require_square(a);
  const size_t rank = a.shape.size();
  require(
      a.dtype == b.dtype && b.shape.size() == rank &&
          std::equal(a.shape.begin(), a.shape.end() - 2, b.shape.begin()) &&
          b.shape[std::get<TriangularSolveAttrs>(attrs).left_side ? rank - 2 : rank - 1] == size,
      "{} does not fit {}", b, a);
  return b;
}

TensorType infer_convolution(const Types& in, const ConvolutionAttrs& a) {
  require_count(in, 2);
  const TensorType &input = in[0], &kernel = in[1];
  const size_t spatial = a.input_spatial.size();
  require(input.rank() == static_cast<int64_t>(spatial) + 2 && kernel.rank() == input.rank(),
          "convolution ranks do not match its dimension numbers");
  for (const Dims* dims : {&a.kernel_spatial, &a.output_spatial, &a.stride, &a.pad_low, &a.pad_high,
                           &a.lhs_dilation, &a.rhs_dilation}) {
    require(dims->size() == spatial, "convolution needs one window entry per spatial dimension");
  }
  require(a.reversal.size() == spatial, "convolution needs one reversal per spatial dimension");
  const auto check = [&](int64_t first, int64_t second, const Dims& rest) {
    Dims all = rest;
    all.insert(all.end(), {first, second});
    require_dims(all, input.rank(), "convolution dimension");
  };
  check(a.input_batch, a.input_feature, a.input_spatial);
  check(a.kernel_input_feature, a.kernel_output_feature, a.kernel_spatial);
  check(a.output_batch, a.output_feature, a.output_spatial);
  require(a.feature_group_count > 0 && a.batch_group_count > 0 &&
              input.dim(a.input_batch) % a.batch_group_count == 0 &&
              input.dim(a.input_feature) % a.feature_group_count == 0 &&
              input.dim(a.input_feature) / a.feature_group_count ==
                  kernel.dim(a.kernel_input_feature) &&
              kernel.dim(a.kernel_output_feature) % a.feature_group_count == 0 &&
              kernel.dim(a.kernel_output_feature) % a.batch_group_count == 0,
          "feature or batch groups do not divide {} by {}", input, kernel);
  TensorType result = input;
  const auto set = [&](int64_t dim, int64_t size) {
    result.shape[static_cast<size_t>(dim)] = size;
  };
  set(a.output_batch, input.dim(a.input_batch) / a.batch_group_count);
  set(a.output_feature, kernel.dim(a.kernel_output_feature));
  for (size_t i = 0; i < spatial; ++i) {
    set(a.output_spatial[i],
        window_positions(input.dim(a.input_spatial[i]), kernel.dim(a.kernel_spatial[i]),
                         a.stride[i], a.pad_low[i], a.pad_high[i], a.lhs_dilation[i],
                         a.rhs_dilation[i]));
  }
  return result;
}

Types infer_reduce(const Types& in, const ReduceAttrs& attrs) {
  require(!in.empty() && in.size() % 2 == 0, "reduce needs one initial value per operand");
  Types results;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    require_same_shape(in[0], in[i]);
    require_dims(attrs.dims, in[i].rank(), "reduced dimension");
    require(in[in.size() / 2 + i].rank() == 0, "an initial value of reduce is not a scalar");
    TensorType result{in[i].dtype, {}};
    for (int64_t dim = 0; dim < in[i].rank(); ++dim) {
      if (std::find(attrs.dims.begin(), attrs.dims.end(), dim) == attrs.dims.end()) {
        result.shape.push_back(in[i].dim(dim));
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

void require_window(const WindowAttrs& w, size_t rank) {
  for (const Dims* dims :
       {&w.size, &w.stride, &w.base_dilation, &w.window_dilation, &w.pad_low, &w.pad_high}) {
    require(dims->size() == rank, "a window needs one entry per dimension");
  }
}

// One entry per window.
Dims window_shape(const TensorType& in, const WindowAttrs& w) {
  require_window(w, in.shape.size());
  Dims shape = in.shape;
  for (size_t d = 0; d < shape.size(); ++d) {
    shape[d] = window_positions(in.shape[d], w.size[d], w.stride[d], w.pad_low[d], w.pad_high[d],
                                w.base_dilation[d], w.window_dilation[d]);
  }
  return shape;
}

Types infer_reduce_window(const Types& in, const WindowAttrs& w) {
  require(!in.empty() && in.size() % 2 == 0, "reduce_window needs one initial value per operand");
  Types results;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    require_same_shape(in[0], in[i]);
    results.push_back(in[i].with_shape(window_shape(in[i], w)));
  }
  return results;
}

TensorType infer_select_and_scatter(const Types& in, const WindowAttrs& w) {
  require_count(in, 3);
  const TensorType source = in[1].with_shape(window_shape(in[0], w));
  require(in[1] == source, "the source is {}, expected {}", in[1], source);
  return in[0];
}

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
    require(a.start_indices_batching_dims[i] != a.index_vector_dim &&
                operand.dim(a.operand_batching_dims[i]) ==
                    indices.dim(a.start_indices_batching_dims[i]) &&
                a.slice_sizes[static_cast<size_t>(a.operand_batching_dims[i])] == 1,
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

Types infer_shape(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kConcatenate:
      return {infer_concatenate(in, std::get<ConcatenateAttrs>(attrs))};
    case OpCode::kConstant:
      return {std::get<ConstantAttrs>(attrs).value.type()};
    case OpCode::kPad:
      return {infer_pad(in, std::get<PadAttrs>(attrs))};
    case OpCode::kReverse:
      require_count(in, 1);
      require_dims(std::get<ReverseAttrs>(attrs).dims, in[0].rank(), "reversed dimension");
      return {in[0]};
    case OpCode::kSlice:
      return {infer_slice(in, std::get<SliceAttrs>(attrs))};
    case OpCode::kTranspose:
      return {infer_transpose(in, std::get<TransposeAttrs>(attrs))};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

Types infer_ordering(OpCode code, const Types& in, const Attrs& attrs) {
  if (code == OpCode::kSort) {
    require(!in.empty(), "sort needs an operand");
    for (const TensorType& type : in) require_same_shape(in[0], type);
    require_dim(std::get<SortAttrs>(attrs).dim, in[0].rank(), "sort dimension");
    return in;
  }
  require_count(in, 1);
  require(in[0].rank() > 0, "top_k of a scalar");
  TensorType result = in[0];
  require(std::get<TopKAttrs>(attrs).k >= 0 && std::get<TopKAttrs>(attrs).k <= result.shape.back(),
          "k of top_k is larger than the dimension");
  result.shape.back() = std::get<TopKAttrs>(attrs).k;
  return {result, result.with_dtype(DType::kS32)};
}

Types infer_control_flow(OpCode code, const Types& in) {
  switch (code) {
    case OpCode::kOptimizationBarrier:
    case OpCode::kWhile:
      return in;
    case OpCode::kReturn:
      return {};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

Types infer_collective(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kAllReduce:
    case OpCode::kCollectivePermute:
    case OpCode::kPropagationBarrier:
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return in;
    case OpCode::kShardingGroup:
      require_count(in, 1);
      return {};
    case OpCode::kAxisIndex:
      return {TensorType{DType::kS32, {}}};
    case OpCode::kPartitionId:
      return {TensorType{DType::kU32, {}}};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

}  // namespace

std::vector<TensorType> infer_types(const Function& fn, OpCode code,
                                    std::span<const ValueId> operands, const Attrs& attrs) {
  Types in;
  in.reserve(operands.size());
  for (ValueId operand : operands) in.push_back(fn.type(operand));
  switch (family_of(code)) {
    case OpFamily::kElementwise:
      SPMD_CHECK(code != OpCode::kConvert, "the type of convert cannot be inferred");
      return {infer_elementwise(code, in, attrs)};
    case OpFamily::kShape:
      return infer_shape(code, in, attrs);
    case OpFamily::kContraction:
      return {infer_dot(in, std::get<DotAttrs>(attrs))};
    case OpFamily::kConvolution:
      return {infer_convolution(in, std::get<ConvolutionAttrs>(attrs))};
    case OpFamily::kLinalg:
      return {infer_linalg(code, in, attrs)};
    case OpFamily::kReduction:
      return infer_reduce(in, std::get<ReduceAttrs>(attrs));
    case OpFamily::kIndexing:
      return infer_indexing(code, in, attrs);
    case OpFamily::kWindow:
      if (code == OpCode::kReduceWindow) {
        return infer_reduce_window(in, std::get<WindowAttrs>(attrs));
      }
      return {infer_select_and_scatter(in, std::get<WindowAttrs>(attrs))};
    case OpFamily::kOrdering:
      return infer_ordering(code, in, attrs);
    case OpFamily::kRandom:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
    case OpFamily::kControlFlow:
      return infer_control_flow(code, in);
    case OpFamily::kCollective:
      return infer_collective(code, in, attrs);
    case OpFamily::kExpanded:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
  SPMD_UNREACHABLE("unknown family");
}

}  // namespace spmd
