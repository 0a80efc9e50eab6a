// Attention of ONNX Runtime, domain com.microsoft. Heads are a dimension: [batch, heads, length,
// size].
#include <cmath>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/attentions.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/microsoft_attentions.h"

namespace spmd::onnx {
namespace {

Expr cached(const Expr& past, const Expr& now) {
  const Expr parts[] = {past, now};
  return concatenate(parts, 2);
}

// ONNX Runtime adds mask_filter_value where a key is masked, so that a query whose keys all are
// looks at them as if none were. The mask is given as lengths [batch], as ends and then starts
// [2 * batch], or as positive numbers where keys are seen: [batch, keys], [batch, queries, keys] or
// [batch, 1, longest, longest], of which the rows of the queries count.
Expr mask_bias(Node& node, const Expr& mask, int64_t batch, int64_t queries, int64_t keys) {
  if (!mask) return {};
  Expr seen;
  const auto per_batch = [&](int64_t start) {
    return reshape(slice_dim(mask, 0, start, start + batch), {batch, 1, 1, 1});
  };
  if (mask.rank() == 1) {
    node.require(mask.dim(0) == batch || mask.dim(0) == 2 * batch || mask.dim(0) == 3 * batch + 2,
                 "its mask does not fit the batch");
    if (mask.dim(0) == 3 * batch + 2) {
      node.unsupported("a mask of cumulated sequence lengths [3 * batch + 2]");
    }
    const Expr key = iota(node.writer(), {mask.dtype(), {batch, 1, queries, keys}}, 3);
    seen = less(key, per_batch(0));
    if (mask.dim(0) == 2 * batch) seen = seen & greater_equal(key, per_batch(batch));
  } else {
    node.require(mask.rank() >= 2 && mask.rank() <= 4 && mask.dim(mask.rank() - 1) >= keys,
                 "its mask does not fit its keys");
    seen = greater(slice_dim(mask, mask.rank() - 1, 0, keys), 0.0);
    if (mask.rank() == 2) seen = reshape(seen, {mask.dim(0), 1, 1, keys});
    if (mask.rank() == 3) seen = unsqueeze(seen, 1);
    if (mask.rank() == 4) {
      node.require(mask.dim(2) >= keys && queries <= keys, "its mask does not fit its queries");
      seen = slice_dim(seen, 2, keys - queries, keys);
    }
  }
  const double filter = node.number("mask_filter_value", -10000);
  const Expr zero = splat(node.writer(), {DType::kF32, seen.shape()}, 0);
  return select(seen, zero, filter);
}

// The context [batch, queries, heads * size].
Expr attended(Node& node, const AttentionInputs& in) {
  const Expr scores = biased_scores(node, in);
  const Expr allowed = in.allowed ? broadcast_to(in.allowed, scores.shape()) : Expr();
  return joined_heads(matmul(convert(masked_softmax(scores, allowed), in.q.dtype()), in.v));
}

// Attention: one product of the input with the weights of queries, keys and values.
void fused_attention(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() == 3, "its input has not three dimensions");
  if (node.flag("do_rotary", false)) node.unsupported("its attribute do_rotary");
  if (node.has(6) || node.flag("past_present_share_buffer", false)) {
    node.unsupported("a cache that past and present share (past_present_share_buffer)");
  }
  Expr projected = matmul(x, node.in(1));
  if (const Expr bias = node.in_or_none(2)) projected = projected + bias;
  const int64_t heads = heads_of(node);
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
  int64_t past = 0;
  if (const Expr cache = node.in_or_none(4)) {  // keys, then values
    node.require(cache.rank() == 5 && cache.dim(0) == 2 && sizes[1] == sizes[2],
                 "its cache is not [2, batch, heads, length, size]");
    past = cache.dim(3);
    in.k = cached(squeeze(slice_dim(cache, 0, 0, 1), 0), in.k);
    in.v = cached(squeeze(slice_dim(cache, 0, 1, 2), 0), in.v);
  }
  if (node.wants(1)) {
    const Expr parts[] = {unsqueeze(in.k, 0), unsqueeze(in.v, 0)};
    node.set(1, concatenate(parts, 0));
  }
  const int64_t queries = x.dim(1), keys = in.k.dim(2);
  in.mask = mask_bias(node, node.in_or_none(3), x.dim(0), queries, keys);
  if (node.flag("unidirectional", false)) {
    in.allowed = causal_mask(node.writer(), queries, keys, past);
  }
  in.bias = node.in_or_none(5);
  node.set(0, attended(node, in));
}

// Part `i` of `count` of a packed [batch, length, heads, count, size], heads moved forward.
Expr unpacked(Node& node, const Expr& x, int64_t i, int64_t count) {
  node.require(x.rank() == 5 && x.dim(3) == count, "its packed input does not fit");
  return transpose(squeeze(slice_dim(x, 3, i, i + 1), 3), {0, 2, 1, 3});
}

// Queries, keys and values of a MultiHeadAttention, in whichever way they are given.
AttentionInputs given_heads(Node& node, int64_t heads) {
  const Expr q = node.in(0), k = node.in_or_none(1), v = node.in_or_none(2);
  const Expr bias = node.in_or_none(3);
  if (bias && (q.rank() != 3 || !k || k.rank() != 3 || !v || v.rank() != 3)) {
    node.unsupported("a bias beside packed or cached keys and values");
  }
  if (q.rank() == 5) {
    node.require(!k && !v, "its packed input stands beside keys or values");
    return {unpacked(node, q, 0, 3), unpacked(node, q, 1, 3), unpacked(node, q, 2, 3)};
  }
  node.require(q.rank() == 3, "its queries have neither three nor five dimensions");
  if (!bias) {
    const Expr query = split_heads(q, heads);
    const Expr key = node.in(1);
    if (key.rank() == 5) return {query, unpacked(node, key, 0, 2), unpacked(node, key, 1, 2)};
    const auto split = [&](const Expr& x) { return x.rank() == 4 ? x : split_heads(x, heads); };
    return {query, split(key), split(node.in(2))};
  }
  const int64_t hidden = q.dim(2), v_hidden = bias.num_elements() - 2 * hidden;
  node.require(bias.rank() == 1 && v_hidden >= 0, "its bias does not fit");
  const auto biased = [&](const Expr& x, int64_t start, int64_t size) {
    return split_heads(x + slice_dim(bias, 0, start, start + size), heads);
  };
  return {biased(q, 0, hidden), biased(k, hidden, hidden), biased(v, 2 * hidden, v_hidden)};
}

void multi_head_attention(Node& node) {
  if (node.has(8) || node.has(9)) {
    node.unsupported("a cache that past and present share (past_sequence_length)");
  }
  AttentionInputs in = given_heads(node, heads_of(node));
  int64_t past = 0;
  if (node.has(6)) {
    past = node.in(6).dim(2);
    in.k = cached(node.in(6), in.k);
    in.v = cached(node.in(7), in.v);
  }
  const int64_t queries = in.q.dim(2), keys = in.k.dim(2);
  in.mask = mask_bias(node, node.in_or_none(4), in.q.dim(0), queries, keys);
  if (node.flag("unidirectional", false)) {
    in.allowed = causal_mask(node.writer(), queries, keys, past);
  }
  in.bias = node.in_or_none(5);
  node.set(0, attended(node, in));
  node.set(1, in.k);
  node.set(2, in.v);
  if (node.wants(3)) node.unsupported("its output qk");
}

// ---- rotary embedding

void fused_rotary_embedding(Node& node) {
  const Expr given = node.in(0), positions = convert(node.in(1), DType::kS64);
  if (node.number("scale", 1) != 1) node.unsupported("its attribute scale");
  if (node.flag("is_packed_batching", false)) node.unsupported("its attribute is_packed_batching");
  node.require(node.in(2).rank() == 2 && node.in(2).shape() == node.in(3).shape(),
               "its tables do not fit each other");
  const int64_t width = node.in(2).dim(1) * 2;
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
  node.require(width <= x.dim(3), "its tables do not fit its input");
  Expr at = positions;  // [batch, length], or the position of the first
  if (at.num_elements() == 1) {
    at = query_positions(node, broadcast_to(reshape(positions, {1, 1}), {x.dim(0), 1}), x.dim(1));
  }
  const Expr result =
      rotated(x, take(node.in(2), at, 0), take(node.in(3), at, 0), node.flag("interleaved", false));
  node.set(0, given.rank() == 4 ? transpose(result, {0, 2, 1, 3}) : reshape(result, given.shape()));
}

double scale_of(Node& node, const Expr& q) {
  const double scale = node.number("scale", 0);
  return scale != 0 ? scale : 1 / std::sqrt(static_cast<double>(q.dim(3)));
}

}  // namespace

Expr biased_scores(Node& node, const AttentionInputs& in) {
  const DType wide = compute_type(in.q.dtype());
  Expr scores =
      attention_scores(convert(in.q, wide), convert(in.k, wide),
                       {.scale = scale_of(node, in.q), .softcap = node.number("softcap", 0)});
  for (const Expr& term : {in.mask, in.bias}) {
    if (term) scores = scores + convert(term, wide);
  }
  return scores;
}

int64_t heads_of(Node& node) {
  return node.at_least(1, node.integer("num_heads"), "its attribute num_heads");
}

Expr query_positions(Node& node, const Expr& past, int64_t length) {
  const Expr count = iota(node.writer(), {DType::kS64, {past.dim(0), length}}, 1);
  return count + broadcast_to(past, count.shape());
}

std::span<const OpHandler> microsoft_attention_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Attention", fused_attention, kFloats, 1, kMicrosoft},
      {"MultiHeadAttention", multi_head_attention, kFloats, 1, kMicrosoft},
      {"RotaryEmbedding", fused_rotary_embedding, kFloats, 1, kMicrosoft},
  };
  return kOps;
}

}  // namespace spmd::onnx
