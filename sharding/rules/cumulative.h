// Cumulative reductions, as exporters write them: reduce windows as long as the dimension.
#pragma once

#include "ir/attrs.h"

namespace spmd {

// Whether result j of a reduce window combines, along a dimension of `size`, elements 0 to j (the
// window ends at j) or j to the last.
inline bool is_cumulative(const WindowAttrs& w, size_t dim, int64_t size) {
  const int64_t behind = w.pad_high[dim], before = w.pad_low[dim];
  return size > 1 && w.size[dim] == size && w.stride[dim] == 1 && w.base_dilation[dim] == 1 &&
         w.window_dilation[dim] == 1 && before + behind == size - 1 && (before == 0 || behind == 0);
}

}  // namespace spmd
