// The result types of each op family; infer.cc chooses among them. All throw UserError with a fact
// and no place.
#pragma once

#include "ir/infer/checks.h"

namespace spmd::infer {

TensorType infer_elementwise(OpCode code, const Types& in, const Attrs& attrs);
Types infer_shape(OpCode code, const Types& in, const Attrs& attrs);
TensorType infer_dot(const Types& in, const DotAttrs& attrs);
Types infer_attention(OpCode code, const Types& in);
TensorType infer_convolution(const Types& in, const ConvolutionAttrs& a);
TensorType infer_linalg(OpCode code, const Types& in, const Attrs& attrs);
Types infer_reduce(const Types& in, const ReduceAttrs& attrs);
Types infer_reduce_window(const Types& in, const WindowAttrs& w);
TensorType infer_select_and_scatter(const Types& in, const WindowAttrs& w);
Types infer_indexing(OpCode code, const Types& in, const Attrs& attrs);
Types infer_ordering(OpCode code, const Types& in, const Attrs& attrs);

}  // namespace spmd::infer
