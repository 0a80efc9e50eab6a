// View: a strided window on a storage, and its algebra. Reshapes, transposes, slices, broadcasts
// and reversals of a view are views again, so that they need no kernels.
#pragma once

#include <optional>
#include <vector>

#include "ir/type.h"
#include "runtime/plan/plan.pb.h"
#include "sharding/spec/axis.h"

namespace spmd::codegen {

// Element (i, j, ...) is element offset + i * strides[0] + j * strides[1] + ... of the storage.
// Stride 0 repeats, a negative stride runs backwards; strides of dimensions of size 1 mean nothing.
struct View {
  int storage = -1;
  DType dtype = DType::kF32;
  int64_t offset = 0;
  Dims shape;
  Dims strides;

  int64_t num_elements() const {
    int64_t count = 1;
    for (int64_t size : shape) count *= size;
    return count;
  }
  bool operator==(const View&) const = default;
};

// All of a storage that holds a tensor row-major.
View dense_view(int storage, const TensorType& type);
// Every element in the same place.
View repeated_view(int storage, const TensorType& type);

// Row-major without gaps, wherever it begins.
bool is_dense(const View& view);
// Two different indices never name the same element.
bool is_injective_by_strides(const View& view);

View transposed(const View& view, const Dims& permutation);
View sliced(const View& view, const Dims& start, const Dims& limit, const Dims& stride);
View broadcasted(const View& view, const Dims& shape, const Dims& dims);
View reversed(const View& view, const Dims& dims);
// nullopt: the strides do not allow it.
std::optional<View> reshaped(const View& view, const Dims& shape);
// The same bytes under another element type, as by bitcast_convert to `type`. nullopt: elements
// that form one are not adjacent.
std::optional<View> bitcasted(const View& view, const TensorType& type);

// `written` covers a storage that is then copied, `from` to `to`, which share a shape. Where it
// must lie to be written to its destination at once; nullopt when strides cannot say it, or when
// one of the two does not cover all of the storage exactly once.
std::optional<View> redirected(const View& written, const View& from, const View& to);

// The coarsest shape, without dimensions of size 1, into whose dimensions both `a` and `b` can be
// split; both must have the same number of elements, not 0. [6, 4] and [2, 12] give [2, 3, 4];
// [6, 4] and [4, 6] have none.
std::optional<Dims> common_refinement(const Dims& a, const Dims& b);
// The strides of `view` on a shape into whose dimensions its own can be split.
Dims strides_on(const View& view, const Dims& refined);
// Joins neighbouring dimensions of `shape` that every one of `strides` walks as one.
void collapse(Dims& shape, const std::vector<Dims*>& strides);

plan::DType to_plan(DType dtype);
// With the view's shape, or with one from elsewhere where the view has none.
View from_plan(const plan::View& view, Dims shape);
plan::AxisList to_plan(const AxisList& axes);
// With the view's own shape when `with_shape`.
plan::View to_plan(const View& view, bool with_shape);

}  // namespace spmd::codegen
