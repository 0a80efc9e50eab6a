#include "codegen/views.h"

#include <algorithm>
#include <cstdlib>

#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::codegen {
namespace {

// The given dimensions of a view, in that order.
View subset(const View& view, const Dims& dims) {
  View result{view.storage, view.dtype, view.offset, {}, {}};
  for (int64_t d : dims) {
    result.shape.push_back(view.shape[static_cast<size_t>(d)]);
    result.strides.push_back(view.strides[static_cast<size_t>(d)]);
  }
  return result;
}

// The dimensions of a view that is dense when they are put in the order of their strides, major to
// minor; nullopt when there is no such order. Dimensions of size 1 are left out.
std::optional<Dims> dense_order(const View& view) {
  Dims order;
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] != 1) order.push_back(static_cast<int64_t>(d));
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
    return view.strides[static_cast<size_t>(a)] > view.strides[static_cast<size_t>(b)];
  });
  if (view.offset != 0 || !is_dense(subset(view, order))) return std::nullopt;
  return order;
}

DType from_plan(plan::DType dtype) {
  for (int d = 0; d <= static_cast<int>(DType::kC128); ++d)
    if (to_plan(static_cast<DType>(d)) == dtype) return static_cast<DType>(d);
  SPMD_UNREACHABLE("a view without element type");
}

}  // namespace

View dense_view(int storage, const TensorType& type) {
  return {storage, type.dtype, 0, type.shape, row_major_strides(type.shape)};
}

View repeated_view(int storage, const TensorType& type) {
  return {storage, type.dtype, 0, type.shape, Dims(type.shape.size(), 0)};
}

bool is_dense(const View& view) {
  int64_t expected = 1;
  for (size_t d = view.shape.size(); d-- > 0;) {
    if (view.shape[d] == 0) return true;
    if (view.shape[d] != 1 && view.strides[d] != expected) return false;
    expected *= view.shape[d];
  }
  return true;
}

bool is_injective_by_strides(const View& view) {
  for (size_t d = 0; d < view.shape.size(); ++d)
    if (view.shape[d] > 1 && view.strides[d] == 0) return false;
  return true;
}

View transposed(const View& view, const Dims& permutation) { return subset(view, permutation); }

View sliced(const View& view, const Dims& start, const Dims& limit, const Dims& stride) {
  View result = view;
  bool empty = false;
  for (size_t d = 0; d < start.size(); ++d) {
    result.shape[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
    result.offset += start[d] * view.strides[d];
    result.strides[d] *= stride[d];
    empty = empty || result.shape[d] == 0;
  }
  if (empty) result.offset = view.offset;
  return result;
}

View broadcasted(const View& view, const Dims& shape, const Dims& dims) {
  View result{view.storage, view.dtype, view.offset, shape, Dims(shape.size(), 0)};
  for (size_t d = 0; d < dims.size(); ++d)
    if (view.shape[d] != 1) result.strides[static_cast<size_t>(dims[d])] = view.strides[d];
  return result;
}

View reversed(const View& view, const Dims& dims) {
  View result = view;
  for (int64_t dim : dims) {
    const auto d = static_cast<size_t>(dim);
    if (view.shape[d] == 0) continue;
    result.offset += (view.shape[d] - 1) * view.strides[d];
    result.strides[d] = -view.strides[d];
  }
  return result;
}

std::optional<View> reshaped(const View& view, const Dims& shape) {
  View result{view.storage, view.dtype, view.offset, shape, Dims(shape.size(), 0)};
  if (view.num_elements() == 0) return result;
  size_t from = view.shape.size();
  size_t to = shape.size();
  // Walks both shapes from the minor end, one pair of dimension runs of equal size at a time.
  while (true) {
    while (from > 0 && view.shape[from - 1] == 1) --from;
    while (to > 0 && shape[to - 1] == 1) --to;
    if (from == 0 || to == 0) break;
    const int64_t stride = view.strides[from - 1];
    int64_t have = view.shape[--from];
    int64_t want = 1;
    while (true) {
      while (want < have && to > 0) {
        result.strides[to - 1] = stride * want;
        want *= shape[--to];
      }
      if (want == have) break;
      if (from == 0) return std::nullopt;
      if (view.shape[from - 1] != 1 && view.strides[from - 1] != stride * have) return std::nullopt;
      have *= view.shape[--from];
    }
  }
  return result;
}

std::optional<View> bitcasted(const View& view, const TensorType& type) {
  const int64_t from = byte_size(view.dtype), to = byte_size(type.dtype);
  View result = view;
  result.dtype = type.dtype;
  if (from == to) return result;
  if (from > to) {
    const int64_t ratio = from / to;
    result.offset *= ratio;
    for (int64_t& stride : result.strides) stride *= ratio;
    result.shape.push_back(ratio);
    result.strides.push_back(1);
    return result;
  }
  const int64_t ratio = to / from;
  if (view.strides.back() != 1 || view.offset % ratio != 0) return std::nullopt;
  result.shape.pop_back();
  result.strides.pop_back();
  for (size_t d = 0; d < result.shape.size(); ++d) {
    if (result.shape[d] > 1 && result.strides[d] % ratio != 0) return std::nullopt;
    result.strides[d] /= ratio;
  }
  result.offset /= ratio;
  return result;
}

std::optional<View> redirected(const View& written, const View& from, const View& to) {
  const std::optional<Dims> source = dense_order(from), target = dense_order(written);
  if (!source || !target || from.num_elements() != written.num_elements()) return std::nullopt;
  // The destination by position in the storage, then cut into the dimensions that are written.
  const View linear = subset(to, *source);
  const std::optional<View> cut = reshaped(linear, subset(written, *target).shape);
  if (!cut) return std::nullopt;
  View result = written;
  result.storage = to.storage;
  result.offset = cut->offset;
  for (size_t i = 0; i < target->size(); ++i)
    result.strides[static_cast<size_t>((*target)[i])] = cut->strides[i];
  return result;
}

std::optional<Dims> common_refinement(const Dims& a, const Dims& b) {
  Dims result;
  size_t i = a.size(), j = b.size();
  int64_t left = 1, right = 1;  // what is left of the dimensions being split
  while (true) {
    while (left == 1 && i > 0) left = a[--i];
    while (right == 1 && j > 0) right = b[--j];
    if (left == 1 && right == 1) break;
    const int64_t size = std::min(left, right);
    if (size <= 1 || left % size != 0 || right % size != 0) return std::nullopt;
    result.push_back(size);
    left /= size;
    right /= size;
  }
  std::reverse(result.begin(), result.end());
  return result;
}

Dims strides_on(const View& view, const Dims& refined) {
  Dims result(refined.size(), 0);
  size_t to = refined.size();
  for (size_t d = view.shape.size(); d-- > 0;) {
    for (int64_t covered = 1; covered < view.shape[d];) {
      SPMD_CHECK(to > 0 && view.shape[d] % (covered * refined[to - 1]) == 0);
      result[--to] = view.strides[d] * covered;
      covered *= refined[to];
    }
  }
  SPMD_CHECK(to == 0);
  return result;
}

void collapse(Dims& shape, const std::vector<Dims*>& strides) {
  size_t kept = 0;  // dimensions [0, kept) of the result are final but for the last
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 1) continue;
    const bool joins = kept > 0 && std::all_of(strides.begin(), strides.end(), [&](Dims* s) {
                         return (*s)[kept - 1] == (*s)[d] * shape[d];
                       });
    const size_t at = joins ? kept - 1 : kept++;
    shape[at] = joins ? shape[at] * shape[d] : shape[d];
    for (Dims* s : strides) (*s)[at] = (*s)[d];
  }
  shape.resize(kept);
  for (Dims* s : strides) s->resize(kept);
}

plan::DType to_plan(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return plan::BOOL;
    case DType::kS2:
      return plan::S2;
    case DType::kS4:
      return plan::S4;
    case DType::kS8:
      return plan::S8;
    case DType::kS16:
      return plan::S16;
    case DType::kS32:
      return plan::S32;
    case DType::kS64:
      return plan::S64;
    case DType::kU2:
      return plan::U2;
    case DType::kU4:
      return plan::U4;
    case DType::kU8:
      return plan::U8;
    case DType::kU16:
      return plan::U16;
    case DType::kU32:
      return plan::U32;
    case DType::kU64:
      return plan::U64;
#define SPMD_TO_PLAN(Type, name) \
  case DType::k##Type:           \
    return plan::Type;
      SPMD_BYTE_FLOATS(SPMD_TO_PLAN)
#undef SPMD_TO_PLAN
    case DType::kF16:
      return plan::F16;
    case DType::kBF16:
      return plan::BF16;
    case DType::kF32:
      return plan::F32;
    case DType::kF64:
      return plan::F64;
    case DType::kC64:
      return plan::C64;
    case DType::kC128:
      return plan::C128;
    case DType::kToken:
      break;
  }
  return plan::INVALID;
}

View from_plan(const plan::View& view, Dims shape) {
  return {view.buffer(), from_plan(view.dtype()), view.offset(), std::move(shape),
          Dims(view.strides().begin(), view.strides().end())};
}

plan::AxisList to_plan(const AxisList& axes) {
  plan::AxisList list;
  for (const AxisRef& axis : axes) {
    plan::AxisRef* ref = list.add_axes();
    ref->set_axis(axis.axis);
    ref->set_pre(axis.is_full() ? 0 : axis.pre);
    ref->set_size(axis.size);
  }
  return list;
}

plan::View to_plan(const View& view, bool with_shape) {
  plan::View result;
  result.set_buffer(view.storage);
  result.set_dtype(to_plan(view.dtype));
  result.set_offset(view.offset);
  result.mutable_strides()->Add(view.strides.begin(), view.strides.end());
  if (with_shape) result.mutable_shape()->Add(view.shape.begin(), view.shape.end());
  return result;
}

}  // namespace spmd::codegen
