// The product that Gemm and its fused forms share.
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// alpha * A' * B' + beta * C, as the node's inputs 0 to 2 and attributes say.
Expr gemm(Node& node);

}  // namespace spmd::onnx
