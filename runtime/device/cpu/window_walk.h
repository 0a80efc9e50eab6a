// How reduce_window and select_and_scatter go through windows: tile by tile of two dimensions that
// windows pass through unchanged, and element by element of the window.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "runtime/device/cpu/tile_io.h"
#include "runtime/device/cpu/tile_program.h"

namespace spmd::cpu {

struct WindowDims {
  using Dims = std::vector<int64_t>;

  explicit WindowDims(const plan::Window& window)
      : size(plan::dims_of(window.size())),
        stride(plan::dims_of(window.stride())),
        base_dilation(plan::dims_of(window.base_dilation())),
        dilation(plan::dims_of(window.window_dilation())),
        pad_low(plan::dims_of(window.pad_low())),
        pad_high(plan::dims_of(window.pad_high())) {}

  bool passes_through(size_t d) const {
    return size[d] == 1 && stride[d] == 1 && base_dilation[d] == 1 && pad_low[d] == 0 &&
           pad_high[d] == 0;
  }
  Dims size, stride, base_dilation, dilation, pad_low, pad_high;
};

// Where a tile begins, and its size.
struct WindowTile {
  int64_t row, column, rows, columns;
  int64_t size() const { return rows * columns; }
};

// Visits, for every position of the window, the elements of the base that it covers.
class WindowWalk {
 public:
  using Dims = std::vector<int64_t>;

  // `base`: the tensor that windows lie on, in memory at `strides`; `positions`: how many windows
  // there are per dimension.
  WindowWalk(const WindowDims& window, Dims base, const Dims& strides, Dims positions)
      : window_(window), base_(std::move(base)), positions_(std::move(positions)) {
    for (size_t d = 0; d < base_.size(); ++d) {
      if (!window_.passes_through(d) || base_[d] != positions_[d] || base_[d] == 1) continue;
      if (column_ < 0 || std::abs(strides[d]) < std::abs(strides[static_cast<size_t>(column_)]))
        column_ = static_cast<int>(d);
    }
    for (size_t d = 0; d < base_.size(); ++d) {
      const bool free = window_.passes_through(d) && base_[d] == positions_[d];
      if (!free || static_cast<int>(d) == column_) continue;
      if (row_ < 0 || base_[d] > base_[static_cast<size_t>(row_)]) row_ = static_cast<int>(d);
    }
    total_columns_ = take(column_);
    total_rows_ = take(row_);
    columns_ = std::min(kTile, total_columns_);
    rows_ = std::clamp<int64_t>(kTile / columns_, 1, total_rows_);
    position_.assign(base_.size(), 0);
    tap_.assign(base_.size(), 0);
    element_.assign(base_.size(), 0);
  }

  // Elements of the largest tile.
  int64_t tile() const { return rows_ * columns_; }
  // Calls `visit(tile)` for all tiles of all positions, in order of the positions.
  template <typename Visit>
  void for_each_tile(const Visit& visit) {
    first_position();
    do {
      for (int64_t row = 0; row < total_rows_; row += rows_)
        for (int64_t column = 0; column < total_columns_; column += columns_)
          visit(WindowTile{row, column, std::min(rows_, total_rows_ - row),
                           std::min(columns_, total_columns_ - column)});
    } while (next_position());
  }
  // Of a view of the base or of the positions.
  TileStrides strides_of(const BoundView& view) const {
    return {row_ < 0 ? 0 : view.strides[static_cast<size_t>(row_)],
            column_ < 0 ? 1 : view.strides[static_cast<size_t>(column_)]};
  }
  const Dims& position() const { return position_; }
  const Dims& element() const { return element_; }

  // The first element of the base under the window, or a later one. False when there is none.
  bool first_element() {
    std::fill(tap_.begin(), tap_.end(), 0);
    return locate() || next_element();
  }
  bool next_element() {
    while (advance(tap_, window_.size))
      if (locate()) return true;
    return false;
  }

 private:
  void first_position() { std::fill(position_.begin(), position_.end(), 0); }
  bool next_position() { return advance(position_, positions_); }
  // The size of a dimension that tiles run along; -1: of none.
  int64_t take(int dim) {
    return dim < 0 ? 1 : std::exchange(positions_[static_cast<size_t>(dim)], 1);
  }
  static bool advance(Dims& index, const Dims& shape) {
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) return true;
      index[d] = 0;
    }
    return false;
  }
  bool locate() {
    for (size_t d = 0; d < base_.size(); ++d) {
      const int64_t at =
          position_[d] * window_.stride[d] + tap_[d] * window_.dilation[d] - window_.pad_low[d];
      if (at < 0 || at % window_.base_dilation[d] != 0) return false;
      element_[d] = at / window_.base_dilation[d];
      if (element_[d] >= base_[d]) return false;
    }
    return true;
  }

  WindowDims window_;
  Dims base_, positions_;
  int column_ = -1, row_ = -1;  // dimensions, -1: none
  int64_t total_columns_ = 1, total_rows_ = 1, columns_ = 1, rows_ = 1;
  Dims position_, tap_, element_;
};

}  // namespace spmd::cpu
