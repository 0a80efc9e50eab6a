// Values of images at positions between their elements.
#pragma once

#include <string>

#include "frontends/onnx/expr.h"

namespace spmd::onnx {

struct Sampling {
  bool align_corners = false;
  std::string padding = "zeros";  // zeros, border, reflection
  std::string mode = "linear";    // nearest, linear, cubic
};

// The values [batch, points..., channels] of an image [batch, spatial..., channels] at positions
// among its elements, [batch, points...] for each spatial dimension.
Expr sampled(const Expr& image, const std::vector<Expr>& positions, const Sampling& sampling);

}  // namespace spmd::onnx
