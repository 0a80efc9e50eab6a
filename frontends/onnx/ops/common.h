// Helpers that several families share.
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

// The axes of an op that had them as an attribute before opset `since_input`, and has them as input
// `input` from then on. nullopt when nothing is said.
std::optional<Dims> axes_of(Node& node, int input, int since_input, std::string_view name = "axes");

// All dimensions of a tensor of `rank` from `first` on.
Dims dims_from(int64_t first, int64_t rank);

// Index (i64) of the first, or last, largest element along `dim`, which goes. A NaN is larger than
// any number.
Expr index_of_largest(const Expr& x, int64_t dim, bool last = false);

// Ones where `indices` (not negative) name the position along new dimension `dim` of size `depth`,
// as booleans.
Expr one_hot(const Expr& indices, int64_t depth, int64_t dim);

// `x` with dimensions up to `axis`, and those from it on, made one each.
Expr flatten(const Expr& x, int64_t axis);

// A tensor of one element per channel, to stand beside x of shape [batch, channels, ...].
Expr per_channel(const Expr& x, const Expr& values, int64_t channel_dim = 1);

// Sums x over a sliding window of all elements up to each along `dim` (prefix sums and the like).
Expr cumulative(const Expr& x, int64_t dim, OpCode reducer, bool exclusive, bool backward);

// The extremes of a type: infinities of floats.
double lowest_value(DType dtype);
double highest_value(DType dtype);

// What a tensor of element type float16 and the like is computed in: float32.
DType compute_type(DType dtype);

// The activation functions of the elementwise family that recurrent ops and fusions name.
Expr gelu(const Expr& x);
Expr gelu_tanh(const Expr& x);
Expr softplus(const Expr& x);
Expr sigmoid(const Expr& x);

}  // namespace spmd::onnx
