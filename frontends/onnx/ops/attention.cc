// Attention and rotary embeddings of ai.onnx.
#include <cmath>
#include <limits>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/attentions.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();

// The operands of an Attention node, heads split.
struct Operands {
  Expr q, k, v;
  bool joined = false;  // came, and goes, as [batch, length, hidden]
  int64_t past = 0;     // keys before those of the queries
};

Operands operands_of(Node& node) {
  Operands o{node.in(0), node.in(1), node.in(2)};
  node.require(o.q.rank() == o.k.rank() && o.q.rank() == o.v.rank(), "its inputs differ in rank");
  o.joined = o.q.rank() == 3;
  if (o.joined) {
    const int64_t heads = node.at_least(1, node.integer("q_num_heads"), "q_num_heads");
    const int64_t shared = node.at_least(1, node.integer("kv_num_heads"), "kv_num_heads");
    o = {split_heads(o.q, heads), split_heads(o.k, shared), split_heads(o.v, shared), true, 0};
  }
  node.require(o.q.rank() == 4, "its inputs have neither three nor four dimensions");
  if (node.has(4)) {
    o.past = node.in(4).dim(2);
    const Expr keys[] = {node.in(4), o.k}, values[] = {node.in(5), o.v};
    o.k = concatenate(keys, 2);
    o.v = concatenate(values, 2);
  }
  node.set(1, o.k);
  node.set(2, o.v);
  return o;
}

// What may be seen, and what is added to the scores; either may be none.
struct Mask {
  Expr allowed, bias;

  void allow(const Expr& x) { allowed = allowed ? allowed & x : x; }
};

// Position of each query relative to the keys, [queries, keys] or with batch and heads in front:
// the number of the query, plus that of the keys before it, less the number of the key.
Expr distance(Node& node, const Operands& o) {
  const int64_t queries = o.q.dim(2), keys = o.k.dim(2);
  const TensorType type{DType::kS64, {queries, keys}};
  const Expr apart = iota(node.writer(), type, 0) - iota(node.writer(), type, 1);
  if (!node.has(6) || node.has(4)) return apart + static_cast<double>(o.past);
  const Expr offset = convert(node.in(6), DType::kS64) - static_cast<double>(queries);
  return apart + reshape(offset, {o.q.dim(0), 1, 1, 1});
}

Mask mask_of(Node& node, const Operands& o) {
  Mask mask;
  const int64_t keys = o.k.dim(2);
  if (Expr given = node.in_or_none(3)) {
    const int64_t missing = keys - given.dim(given.rank() - 1);
    const bool boolean = given.dtype() == DType::kBool;
    if (missing > 0 && given.dim(given.rank() - 1) != 1) {  // keys beyond the mask are not seen
      Dims low(given.shape().size(), 0), high = low;
      high.back() = missing;
      given = pad(given, boolean ? 0 : kMinusInfinity, low, high);
    }
    if (boolean) {
      mask.allow(given);
    } else {
      mask.bias = given;
      mask.allow(greater(given, kMinusInfinity));
    }
  }
  const Expr apart = distance(node, o);
  if (node.flag("is_causal", false)) mask.allow(greater_equal(apart, 0.0));
  const int64_t left = node.integer("left_window_size", -1);
  const int64_t right = node.integer("right_window_size", -1);
  if (left >= 0) mask.allow(less_equal(apart, static_cast<double>(left)));
  if (right >= 0) mask.allow(greater_equal(apart, -static_cast<double>(right)));
  if (const Expr lengths = node.in_or_none(6)) {
    const TensorType type{DType::kS64, {o.q.dim(0), 1, 1, keys}};
    const Expr limit = reshape(convert(lengths, DType::kS64), {o.q.dim(0), 1, 1, 1});
    mask.allow(less(iota(node.writer(), type, 3), limit));
  }
  return mask;
}

void attention(Node& node) {
  const Operands o = operands_of(node);
  const DType dtype = o.q.dtype();
  node.require(o.k.dim(1) > 0 && o.q.dim(1) % o.k.dim(1) == 0,
               "its heads do not share keys evenly");
  const int64_t repeats = o.q.dim(1) / o.k.dim(1);
  const double scale = node.number("scale", 1 / std::sqrt(static_cast<double>(o.q.dim(3))));
  const Expr scores = attention_scores(convert(o.q, compute_type(dtype)),
                                       convert(repeated_heads(o.k, repeats), compute_type(dtype)),
                                       {.scale = scale, .softcap = node.number("softcap", 0)});
  const Mask mask = mask_of(node, o);
  Expr biased = scores;
  if (mask.bias) biased = biased + convert(mask.bias, biased.dtype());
  const Expr allowed = mask.allowed ? broadcast_to(mask.allowed, scores.shape()) : Expr();
  const Expr weights = masked_softmax(biased, allowed);
  const Expr result = matmul(convert(weights, dtype), repeated_heads(o.v, repeats));
  node.set(0, o.joined ? joined_heads(result) : result);
  if (!node.wants(3)) return;
  const int64_t mode = node.integer("qk_matmul_output_mode", 0);
  node.require(mode >= 0 && mode <= 3, "its attribute qk_matmul_output_mode is unknown");
  Expr seen = mode == 3 ? weights : scores;
  if (mode == 0 && node.number("softcap", 0) != 0) {
    seen = attention_scores(convert(o.q, compute_type(dtype)),
                            convert(repeated_heads(o.k, repeats), compute_type(dtype)),
                            {.scale = scale});
  }
  if (mode == 2) seen = allowed ? select(allowed, biased, kMinusInfinity) : biased;
  node.set(3, convert(seen, dtype));
}

// Rows of a table, picked by position, or the table itself: [batch, length, size].
Expr cache_rows(Node& node, int input, const Expr& positions) {
  const Expr cache = node.in(input);
  return positions ? take(cache, positions, 0) : cache;
}

void rotary_embedding(Node& node) {
  const Expr given = node.in(0);
  node.require(given.rank() == 3 || given.rank() == 4,
               "its input has neither three nor four dimensions");
  Expr x = given;  // [batch, length, heads, size]
  if (given.rank() == 4) {
    x = transpose(given, {0, 2, 1, 3});
  } else {
    const int64_t heads = node.at_least(1, node.integer("num_heads"), "its attribute num_heads");
    node.require(given.dim(2) % heads == 0, "its heads do not divide the input");
    x = reshape(given, {given.dim(0), given.dim(1), heads, given.dim(2) / heads});
  }
  const Expr positions = node.in_or_none(3);
  const Expr cos = cache_rows(node, 1, positions), sin = cache_rows(node, 2, positions);
  const int64_t partial = node.integer("rotary_embedding_dim", 0);
  node.require(cos.rank() == 3 && cos.shape() == sin.shape() &&
                   (partial == 0 || cos.dim(2) * 2 == partial) && cos.dim(2) * 2 <= x.dim(3),
               "its tables do not fit its input");
  const Expr result = rotated(x, cos, sin, node.flag("interleaved", false));
  node.set(0, given.rank() == 4 ? transpose(result, {0, 2, 1, 3}) : reshape(result, given.shape()));
}

void swiglu(Node& node) {
  const Expr a = node.in(0), b = node.in(1);
  node.set(0, a * sigmoid(a * node.number("alpha", 1)) * b);
}

}  // namespace

Expr split_heads(const Expr& x, int64_t heads) {
  if (x.rank() != 3 || heads <= 0 || x.dim(2) % heads != 0) {
    throw UserError({}, "its heads do not divide its inputs");
  }
  return transpose(reshape(x, {x.dim(0), x.dim(1), heads, x.dim(2) / heads}), {0, 2, 1, 3});
}

Expr joined_heads(const Expr& x) {
  return reshape(transpose(x, {0, 2, 1, 3}), {x.dim(0), x.dim(2), x.dim(1) * x.dim(3)});
}

Expr repeated_heads(const Expr& x, int64_t times) {
  if (times == 1) return x;
  const Dims shape = {x.dim(0), x.dim(1), times, x.dim(2), x.dim(3)};
  return reshape(broadcast_in(x, shape, {0, 1, 3, 4}),
                 {x.dim(0), x.dim(1) * times, x.dim(2), x.dim(3)});
}

Expr attention_scores(const Expr& q, const Expr& k, const ScoreOptions& options) {
  DotAttrs attrs;
  attrs.lhs_batch = attrs.rhs_batch = {0, 1};
  attrs.lhs_contracting = attrs.rhs_contracting = {3};
  Expr scores = dot(q, k, std::move(attrs)) * options.scale;
  if (options.softcap > 0) scores = tanh(scores / options.softcap) * options.softcap;
  return scores;
}

Expr causal_mask(Writer& writer, int64_t queries, int64_t keys, int64_t offset) {
  const TensorType type{DType::kS64, {queries, keys}};
  return greater_equal(iota(writer, type, 0) + static_cast<double>(offset), iota(writer, type, 1));
}

Expr masked_softmax(const Expr& scores, const Expr& allowed) {
  const Dims last = {scores.rank() - 1};
  if (!allowed) return softmax(scores, last);
  const Expr masked = select(allowed, scores, kMinusInfinity);
  const Expr largest = reduce_max(masked, last, true);
  const Expr shift = select(is_finite(largest), largest, 0.0);
  const Expr e = exp(masked - shift);
  const Expr total = sum(e, last, true);
  return e / select(equal(total, 0.0), 1.0, total);
}

Expr rotated(const Expr& x, const Expr& cos, const Expr& sin, bool interleaved) {
  const int64_t half = cos.dim(2), size = x.dim(3);
  const Expr turned = slice_dim(x, 3, 0, 2 * half);
  const Expr a = interleaved ? slice_dim(turned, 3, 0, 2 * half, 2) : slice_dim(turned, 3, 0, half);
  const Expr b =
      interleaved ? slice_dim(turned, 3, 1, 2 * half, 2) : slice_dim(turned, 3, half, 2 * half);
  const Expr c = unsqueeze(cos, 2), s = unsqueeze(sin, 2);
  const Expr real = a * c - b * s, imaginary = a * s + b * c;
  Expr result;
  if (interleaved) {
    const Expr pairs[] = {unsqueeze(real, 4), unsqueeze(imaginary, 4)};
    result = reshape(concatenate(pairs, 4), turned.shape());
  } else {
    const Expr halves[] = {real, imaginary};
    result = concatenate(halves, 3);
  }
  if (2 * half == size) return result;
  const Expr all[] = {result, slice_dim(x, 3, 2 * half, size)};
  return concatenate(all, 3);
}

std::span<const OpHandler> attention_ops() {
  static constexpr OpHandler kOps[] = {
      {"Attention", attention, Accepts::kFloats},
      {"RotaryEmbedding", rotary_embedding, Accepts::kFloats},
      {"SwiGLU", swiglu, Accepts::kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
