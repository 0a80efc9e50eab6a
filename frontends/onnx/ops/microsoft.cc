// The common fused ops of ONNX Runtime, domain com.microsoft.
#include <cmath>
#include <limits>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/attentions.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/normalizations.h"

namespace spmd::onnx {
namespace {

constexpr std::string_view kMicrosoft = "com.microsoft";

// ---- activations

void exact_gelu(Node& node) { node.set(0, gelu(node.in(0))); }
void bias_gelu(Node& node) { node.set(0, gelu(node.in(0) + node.in(1))); }

void fast_gelu(Node& node) {
  Expr x = node.in(0);
  if (const Expr bias = node.in_or_none(1)) x = x + bias;
  node.set(0, gelu_tanh(x));
}

void quick_gelu(Node& node) {
  const Expr x = node.in(0);
  node.set(0, x * sigmoid(x * node.number("alpha", 1.702)));
}

void bias_split_gelu(Node& node) {
  const Expr x = node.in(0) + node.in(1);
  const int64_t last = x.rank() - 1;
  node.require(last >= 0 && x.dim(last) % 2 == 0, "its last dimension is odd");
  const int64_t half = x.dim(last) / 2;
  node.set(0, slice_dim(x, last, 0, half) * gelu(slice_dim(x, last, half, 2 * half)));
}

void bias_softmax(Node& node) {
  const Expr x = node.in(0);
  const int64_t axis = node.axis(node.integer("axis", 1), x.rank());
  node.set(0, softmax(x + node.in(1), dims_from(axis, x.rank())));
}

// ---- normalisations

// Layer (`simple`: root mean square) normalisation of the last dimension; outputs 1 and 2 are its
// statistics.
Expr normalized(Node& node, const Expr& x, const Expr& scale, const Expr& bias, bool simple) {
  const Dims last = {x.rank() - 1};
  const Expr wide = convert(x, compute_type(x.dtype()));
  const double epsilon = node.number("epsilon", 1e-5);
  Expr value;
  if (simple) {
    value = rms_normalized(wide, last, epsilon);
  } else {
    const Standardized s = standardized(wide, last, epsilon);
    value = s.value;
  }
  Expr result = convert(value, x.dtype()) * scale;
  if (bias) result = result + bias;
  return result;
}

void simplified_layer_normalization(Node& node) {
  const Expr x = node.in(0);
  const Dims dims = dims_from(node.axis(node.integer("axis", -1), x.rank()), x.rank());
  const Expr wide = convert(x, compute_type(x.dtype()));
  const Expr inverse = rsqrt(mean(wide * wide, dims, true) + node.number("epsilon", 1e-5));
  node.set(0, convert(wide * inverse, x.dtype()) * node.in(1));
  node.set(1, inverse);
}

// The normalised sum of input and skip; output 3 is the sum.
template <bool simple>
void skip_normalization(Node& node) {
  Expr x = node.in(0) + node.in(1);
  if (const Expr bias = node.in_or_none(simple ? 3 : 4)) x = x + bias;
  node.require(x.rank() > 0, "its input is a scalar");
  node.set(0, normalized(node, x, node.in(2), simple ? Expr() : node.in_or_none(3), simple));
  node.set(3, x);
}

// ---- products

// Swaps the last two dimensions; with `batch_too`, first moves the first dimension before the last.
Expr oriented(const Expr& x, bool swap, bool batch_too) {
  Expr result = x;
  if (batch_too) result = move_dim(result, 0, result.rank() - 2);
  return swap && result.rank() >= 2 ? swap_dims(result, result.rank() - 2, result.rank() - 1)
                                    : result;
}

void fused_matmul(Node& node) {
  const Expr a = oriented(node.in(0), node.flag("transA", false), node.flag("transBatchA", false));
  const Expr b = oriented(node.in(1), node.flag("transB", false), node.flag("transBatchB", false));
  const Expr product = matmul(a, b);
  const double alpha = node.number("alpha", 1);
  node.set(0, alpha == 1 ? product : product * alpha);
}

// ---- attention

// Which keys may be seen, from ONNX Runtime's mask: lengths [batch], or ones where keys are seen
// [batch, keys] or [batch, queries, keys]. None when there is no mask.
Expr allowed_by(Node& node, const Expr& mask, int64_t queries, int64_t keys) {
  if (!mask) return {};
  const int64_t batch = mask.dim(0);
  if (mask.rank() == 1) {
    const TensorType type{mask.dtype(), {batch, 1, queries, keys}};
    return less(iota(node.writer(), type, 3), reshape(mask, {batch, 1, 1, 1}));
  }
  const Expr seen = not_equal(mask, 0.0);
  if (mask.rank() == 2) return reshape(seen, {batch, 1, 1, mask.dim(1)});
  if (mask.rank() == 3) return unsqueeze(seen, 1);
  node.unsupported("a mask of this rank");
}

struct AttentionInputs {
  Expr q, k, v, allowed, bias;
};

// The context [batch, queries, heads * size].
Expr attended(Node& node, const AttentionInputs& in) {
  const auto size = static_cast<double>(in.q.dim(3));
  double scale = node.number("scale", 0);
  if (scale == 0) scale = 1 / std::sqrt(size);
  const DType dtype = in.q.dtype();
  Expr scores =
      attention_scores(convert(in.q, compute_type(dtype)), convert(in.k, compute_type(dtype)),
                       {.scale = scale, .softcap = node.number("softcap", 0)});
  if (in.bias) scores = scores + convert(in.bias, scores.dtype());
  const Expr allowed = in.allowed ? broadcast_to(in.allowed, scores.shape()) : Expr();
  return joined_heads(matmul(convert(masked_softmax(scores, allowed), dtype), in.v));
}

Expr both(const Expr& a, const Expr& b) {
  if (!a || !b) return a ? a : b;
  return a & b;
}

// Attention: one product of the input with the weights of queries, keys and values.
void fused_attention(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() == 3, "its input has not three dimensions");
  if (node.has(4)) node.unsupported("a cache of keys and values in one tensor");
  Expr projected = matmul(x, node.in(1));
  if (const Expr bias = node.in_or_none(2)) projected = projected + bias;
  const int64_t heads = node.at_least(1, node.integer("num_heads"), "its attribute num_heads");
  const int64_t third = projected.dim(2) / 3;
  const Dims sizes = node.integers("qkv_hidden_sizes").value_or(Dims{third, third, third});
  node.require(sizes.size() == 3 && sizes[0] >= 0 && sizes[1] >= 0 && sizes[2] >= 0 &&
                   sizes[0] + sizes[1] + sizes[2] == projected.dim(2),
               "its weights do not fit its hidden sizes");
  const auto part = [&](int64_t start, int64_t size) {
    return split_heads(slice_dim(projected, 2, start, start + size), heads);
  };
  AttentionInputs in{part(0, sizes[0]), part(sizes[0], sizes[1]),
                     part(sizes[0] + sizes[1], sizes[2])};
  const int64_t length = x.dim(1);
  in.allowed = allowed_by(node, node.in_or_none(3), length, length);
  if (node.flag("unidirectional", false)) {
    in.allowed = both(in.allowed, causal_mask(node.writer(), length, length, 0));
  }
  in.bias = node.in_or_none(5);
  node.set(0, attended(node, in));
}

// MultiHeadAttention: queries, keys and values are given.
void multi_head_attention(Node& node) {
  const Expr q = node.in(0);
  if (!node.has(1) || !node.has(2)) node.unsupported("queries, keys and values in one tensor");
  Expr k = node.in(1), v = node.in(2), query = q;
  const int64_t heads = node.at_least(1, node.integer("num_heads"), "its attribute num_heads");
  node.require(q.rank() == 3, "its queries have not three dimensions");
  if (const Expr bias = node.in_or_none(3)) {
    const int64_t hidden = q.dim(2), v_hidden = bias.num_elements() - 2 * hidden;
    node.require(bias.rank() == 1 && v_hidden >= 0 && k.rank() == 3, "its bias does not fit");
    query = query + slice_dim(bias, 0, 0, hidden);
    k = k + slice_dim(bias, 0, hidden, 2 * hidden);
    v = v + slice_dim(bias, 0, 2 * hidden, 2 * hidden + v_hidden);
  }
  AttentionInputs in;
  in.q = split_heads(query, heads);
  in.k = k.rank() == 4 ? k : split_heads(k, heads);
  in.v = v.rank() == 4 ? v : split_heads(v, heads);
  int64_t past = 0;
  if (node.has(6)) {
    past = node.in(6).dim(2);
    const Expr keys[] = {node.in(6), in.k}, values[] = {node.in(7), in.v};
    in.k = concatenate(keys, 2);
    in.v = concatenate(values, 2);
  }
  in.allowed = allowed_by(node, node.in_or_none(4), in.q.dim(2), in.k.dim(2));
  if (node.flag("unidirectional", false)) {
    in.allowed = both(in.allowed, causal_mask(node.writer(), in.q.dim(2), in.k.dim(2), past));
  }
  in.bias = node.in_or_none(5);
  node.set(0, attended(node, in));
  node.set(1, in.k);
  node.set(2, in.v);
}

void fused_rotary_embedding(Node& node) {
  const Expr given = node.in(0), positions = convert(node.in(1), DType::kS64);
  const int64_t width = node.in(2).dim(node.in(2).rank() - 1) * 2;
  Expr x = given;
  if (given.rank() == 4) {
    x = transpose(given, {0, 2, 1, 3});
  } else {
    node.require(given.rank() == 3, "its input has neither three nor four dimensions");
    const int64_t heads = node.integer("num_heads", 0);
    const int64_t size = heads > 0 ? given.dim(2) / heads : width;
    node.require(size > 0 && given.dim(2) % size == 0, "its heads do not divide its input");
    x = reshape(given, {given.dim(0), given.dim(1), given.dim(2) / size, size});
  }
  node.require(
      node.in(2).rank() == 2 && node.in(2).shape() == node.in(3).shape() && width <= x.dim(3),
      "its tables do not fit its input");
  Expr at = positions;  // [batch, length], or the position of the first
  if (at.num_elements() == 1) {
    const TensorType type{DType::kS64, {x.dim(0), x.dim(1)}};
    at = iota(node.writer(), type, 1) + reshape(positions, {});
  }
  const Expr result =
      rotated(x, take(node.in(2), at, 0), take(node.in(3), at, 0), node.flag("interleaved", false));
  node.set(0, given.rank() == 4 ? transpose(result, {0, 2, 1, 3}) : reshape(result, given.shape()));
}

}  // namespace

std::span<const OpHandler> microsoft_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Attention", fused_attention, kFloats, 1, kMicrosoft},
      {"BiasGelu", bias_gelu, kFloats, 1, kMicrosoft},
      {"BiasSoftmax", bias_softmax, kFloats, 1, kMicrosoft},
      {"BiasSplitGelu", bias_split_gelu, kFloats, 1, kMicrosoft},
      {"FastGelu", fast_gelu, kFloats, 1, kMicrosoft},
      {"FusedMatMul", fused_matmul, kFloats, 1, kMicrosoft},
      {"Gelu", exact_gelu, kFloats, 1, kMicrosoft},
      {"MultiHeadAttention", multi_head_attention, kFloats, 1, kMicrosoft},
      {"QuickGelu", quick_gelu, kFloats, 1, kMicrosoft},
      {"RotaryEmbedding", fused_rotary_embedding, kFloats, 1, kMicrosoft},
      {"SimplifiedLayerNormalization", simplified_layer_normalization, kFloats, 1, kMicrosoft},
      // Exporters put this one into ai.onnx too.
      {"SimplifiedLayerNormalization", simplified_layer_normalization, kFloats},
      {"SkipLayerNormalization", skip_normalization<false>, kFloats, 1, kMicrosoft},
      {"SkipSimplifiedLayerNormalization", skip_normalization<true>, kFloats, 1, kMicrosoft},
      {"TransposeMatMul", fused_matmul, kFloats, 1, kMicrosoft},
  };
  return kOps;
}

}  // namespace spmd::onnx
