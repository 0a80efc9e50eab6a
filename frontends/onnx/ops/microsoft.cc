// The common fused ops of ONNX Runtime, domain com.microsoft; those of attention and of quantised
// weights have files of their own.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/activations.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/contractions.h"
#include "frontends/onnx/ops/normalizations.h"

namespace spmd::onnx {
namespace {

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
Expr normalized(Node& node, const Expr& x, const Expr& scale, const Expr& bias, bool simple,
                double default_epsilon) {
  const Dims last = {x.rank() - 1};
  const Expr wide = convert(x, compute_type(x.dtype()));
  const double epsilon = node.number("epsilon", default_epsilon);
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
  node.set(0, normalized(node, x, node.in(2), simple ? Expr() : node.in_or_none(3), simple, 1e-12));
  node.set(3, x);
}

// The normalised sum of embeddings of words, positions and segments; output 1 counts the tokens
// that the mask lets through, output 2 is the sum.
void embed_layer_normalization(Node& node) {
  const Expr ids = node.in(0);
  node.require(ids.rank() == 2, "its input_ids is not [batch, length]");
  const auto rows = [&](int table, const Expr& at) { return take(node.in(table), at, 0); };
  Expr x = rows(2, ids);
  if (const Expr positions = node.in_or_none(8)) {
    x = x + rows(3, positions);
  } else {
    node.require(node.in(3).rank() == 2 && node.in(3).dim(0) >= ids.dim(1),
                 "it has fewer positions than tokens");
    x = x + slice_dim(node.in(3), 0, 0, ids.dim(1));
  }
  if (const Expr segments = node.in_or_none(1)) x = x + rows(4, segments);
  node.set(0, normalized(node, x, node.in(5), node.in(6), false, 1e-12));
  const Expr mask = node.in_or_none(7);
  node.set(1, mask ? sum(convert(mask, DType::kS32), {1})
                   : splat(node.writer(), {DType::kS32, {ids.dim(0)}}, 0));
  node.set(2, x);
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

void fused_gemm(Node& node) {
  const std::string name = node.text("activation", "");
  const auto parameter = [&](const char* attribute) {
    return node.has_attribute(attribute) ? std::optional(node.number(attribute, 0)) : std::nullopt;
  };
  const Expr product = gemm(node);
  node.set(0, name.empty() ? product
                           : activation_named(node, name, parameter("activation_alpha"),
                                              parameter("activation_beta"))(product));
}

void gemm_fast_gelu(Node& node) {
  Expr x = matmul(node.in(0), node.in(1));
  if (const Expr bias = node.in_or_none(2)) x = x + bias;
  node.set(0, gelu_tanh(x));
}

}  // namespace

std::span<const OpHandler> microsoft_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"BiasGelu", bias_gelu, kFloats, 1, kMicrosoft},
      {"BiasSoftmax", bias_softmax, kFloats, 1, kMicrosoft},
      {"BiasSplitGelu", bias_split_gelu, kFloats, 1, kMicrosoft},
      {"EmbedLayerNormalization", embed_layer_normalization, kIntegers, 1, kMicrosoft},
      {"FastGelu", fast_gelu, kFloats, 1, kMicrosoft},
      {"FusedGemm", fused_gemm, kFloats, 1, kMicrosoft},
      {"FusedMatMul", fused_matmul, kFloats, 1, kMicrosoft},
      {"Gelu", exact_gelu, kFloats, 1, kMicrosoft},
      {"GemmFastGelu", gemm_fast_gelu, kFloats, 1, kMicrosoft},
      {"QuickGelu", quick_gelu, kFloats, 1, kMicrosoft},
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
