#include "passes/raise/dot_axes.h"

#include <algorithm>

#include "passes/rewrite/match.h"

namespace spmd::raise {
namespace {

// The dimensions of one operand.
struct Side {
  const Dims& shape;
  const Dims& batch;
  const Dims& contracting;
  bool is_free(size_t d) const {
    const auto dim = static_cast<int64_t>(d);
    return !contains(batch, dim) && !contains(contracting, dim);
  }
};

Side side_of(const Function& fn, const Op& dot, size_t operand) {
  const auto& attrs = dot.as<DotAttrs>();
  const Dims& shape = fn.type(dot.operands[operand]).shape;
  return operand == 0 ? Side{shape, attrs.lhs_batch, attrs.lhs_contracting}
                      : Side{shape, attrs.rhs_batch, attrs.rhs_contracting};
}

size_t longer_than_one(const Dims& shape, const Dims& dims) {
  return static_cast<size_t>(std::count_if(
      dims.begin(), dims.end(), [&](int64_t d) { return shape[static_cast<size_t>(d)] != 1; }));
}

}  // namespace

std::optional<DotAxes> axes_of_dot(const Function& fn, const Op& dot, const Axes& result,
                                   Axis contracted) {
  DotAxes axes;
  size_t next = dot.as<DotAttrs>().lhs_batch.size();
  axes.batch.assign(result.begin(), result.begin() + static_cast<std::ptrdiff_t>(next));
  for (size_t operand : {size_t{0}, size_t{1}}) {
    const Side side = side_of(fn, dot, operand);
    if (longer_than_one(side.shape, side.contracting) > 1) return std::nullopt;
    Axes& of = axes.operands[operand];
    for (size_t d = 0; d < side.shape.size(); ++d) {
      if (side.is_free(d)) {
        axes.free[operand].push_back(result[next]);
        of.push_back(result[next++]);
      } else {
        of.push_back(side.shape[d] == 1 ? kOne : contracted);
      }
    }
    for (size_t i = 0; i < side.batch.size(); ++i) {
      of[static_cast<size_t>(side.batch[i])] = axes.batch[i];
    }
  }
  return axes;
}

std::optional<DotWithKnown> dot_with_known(const Function& fn, const Op& dot, size_t known,
                                           const Axes& axes, Axis free) {
  if (has_axis(axes, kSame)) return std::nullopt;
  const Side from = side_of(fn, dot, known), to = side_of(fn, dot, 1 - known);
  DotWithKnown result;
  result.other = {dot.operands[1 - known], Axes(to.shape.size(), kOne)};
  Axes& other = result.other.axes;
  const auto tie = [&](const Dims& a, const Dims& b, Axes& list) {
    for (size_t i = 0; i < a.size(); ++i) {
      list.push_back(axes[static_cast<size_t>(a[i])]);
      other[static_cast<size_t>(b[i])] = list.back();
    }
  };
  tie(from.batch, to.batch, result.batch);
  tie(from.contracting, to.contracting, result.contracted);
  Axes free_of[2];
  for (size_t d = 0; d < from.shape.size(); ++d) {
    if (from.is_free(d)) free_of[known].push_back(axes[d]);
  }
  for (size_t d = 0; d < to.shape.size(); ++d) {
    if (!to.is_free(d)) continue;
    if (to.shape[d] != 1) other[d] = free;
    free_of[1 - known].push_back(other[d]);
  }
  if (std::count(other.begin(), other.end(), free) > 1) return std::nullopt;
  result.result = result.batch;
  for (const Axes& list : free_of) {
    result.result.insert(result.result.end(), list.begin(), list.end());
  }
  return result;
}

}  // namespace spmd::raise
