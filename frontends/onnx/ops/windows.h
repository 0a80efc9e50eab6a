// Sliding windows over spatial dimensions, as convolutions and poolings describe them.
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// One entry per spatial dimension.
struct Window {
  Dims size, stride, dilation, low, high;
  Dims asked_high;  // `high` before ceil_mode enlarged it

  int64_t extent(size_t i) const { return (size[i] - 1) * dilation[i] + 1; }
  // How often the window fits, of an input dimension of `input` elements.
  int64_t positions(size_t i, int64_t input) const {
    return (input + low[i] + high[i] - extent(i)) / stride[i] + 1;
  }
};

// Reads kernel_shape (unless `size` gives it), strides, dilations, pads, auto_pad and, for
// poolings, ceil_mode, which pads the end until the last window fits.
Window window_of(Node& node, const Dims& input, std::optional<Dims> size = {});

// The window as the attributes of reduce_window on [batch, channels, spatial...].
WindowAttrs reduce_window_attrs(const Window& window);

}  // namespace spmd::onnx
