#include "frontends/onnx/ops/windows.h"

#include <algorithm>

#include "support/error.h"

namespace spmd::onnx {
namespace {

constexpr int64_t kLargest = int64_t{1} << 31;

Dims per_dimension(Node& node, std::string_view name, size_t count, int64_t otherwise,
                   int64_t least) {
  const Dims values = node.integers(name).value_or(Dims(count, otherwise));
  if (values.size() != count) {
    node.fail(
        fmt::format("its attribute {} has {} entries, expected {}", name, values.size(), count));
  }
  for (int64_t value : values) {
    if (value < least || value > kLargest) {
      node.fail(fmt::format("its attribute {} holds {}", name, value));
    }
  }
  return values;
}

// Pads so that a stride-1 window keeps the size; the odd element goes to the end, or the beginning.
void pad_same(Window& window, const Dims& input, bool odd_at_end) {
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t outputs = (input[i] + window.stride[i] - 1) / window.stride[i];
    const int64_t total =
        std::max<int64_t>(0, (outputs - 1) * window.stride[i] + window.extent(i) - input[i]);
    window.low[i] = odd_at_end ? total / 2 : total - total / 2;
    window.high[i] = total - window.low[i];
  }
}

// Enlarges the padding at the end until a window that begins within input or padding at the
// beginning ends in it.
void pad_to_ceil(Window& window, const Dims& input) {
  for (size_t i = 0; i < input.size(); ++i) {
    const int64_t room = input[i] + window.low[i] + window.high[i] - window.extent(i);
    if (room < 0) continue;
    int64_t outputs = (room + window.stride[i] - 1) / window.stride[i] + 1;
    if ((outputs - 1) * window.stride[i] >= input[i] + window.low[i]) --outputs;
    window.high[i] = std::max(window.high[i], (outputs - 1) * window.stride[i] + window.extent(i) -
                                                  input[i] - window.low[i]);
  }
}

}  // namespace

Window window_of(Node& node, const Dims& input, std::optional<Dims> size) {
  const size_t rank = input.size();
  Window window;
  if (size && node.has_attribute("kernel_shape") && node.integers("kernel_shape") != size) {
    node.fail("its attribute kernel_shape is not the kernel's shape");
  }
  if (!size && !node.has_attribute("kernel_shape"))
    node.fail("its attribute kernel_shape is missing");
  window.size = size ? *size : per_dimension(node, "kernel_shape", rank, 1, 1);
  node.require(window.size.size() == rank, "its kernel's rank does not fit its input");
  window.stride = per_dimension(node, "strides", rank, 1, 1);
  window.dilation = per_dimension(node, "dilations", rank, 1, 1);
  for (size_t i = 0; i < rank; ++i) {
    node.require(window.size[i] >= 1 && window.extent(i) <= kLargest, "its window is out of range");
  }
  const Dims pads = per_dimension(node, "pads", 2 * rank, 0, -kLargest);
  const auto half = pads.begin() + static_cast<ptrdiff_t>(rank);
  window.low.assign(pads.begin(), half);
  window.high.assign(half, pads.end());
  const std::string mode = node.text("auto_pad", "NOTSET");
  if (mode == "SAME_UPPER" || mode == "SAME_LOWER") {
    pad_same(window, input, mode == "SAME_UPPER");
  } else if (mode == "VALID") {
    window.low.assign(rank, 0);
    window.high.assign(rank, 0);
  } else if (mode != "NOTSET" && !mode.empty()) {
    node.fail("its attribute auto_pad is unknown");
  }
  window.asked_high = window.high;
  if (node.flag("ceil_mode", false)) pad_to_ceil(window, input);
  return window;
}

WindowAttrs reduce_window_attrs(const Window& window) {
  WindowAttrs attrs;
  const auto with_ones = [](Dims dims, int64_t value) {
    dims.insert(dims.begin(), {value, value});
    return dims;
  };
  attrs.size = with_ones(window.size, 1);
  attrs.stride = with_ones(window.stride, 1);
  attrs.window_dilation = with_ones(window.dilation, 1);
  attrs.base_dilation.assign(attrs.size.size(), 1);
  attrs.pad_low = with_ones(window.low, 0);
  attrs.pad_high = with_ones(window.high, 0);
  return attrs;
}

}  // namespace spmd::onnx
