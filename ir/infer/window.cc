#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {
namespace {

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

}  // namespace

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

}  // namespace spmd::infer
