// The convolution that Conv and its quantised forms share.
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// x convolved with `kernel` as the node's attributes say.
Expr convolve(Node& node, const Expr& x, const Expr& kernel);

}  // namespace spmd::onnx
