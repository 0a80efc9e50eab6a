// GroupQueryAttention of ONNX Runtime: several query heads on each key head, and a cache of keys
// and values that each batch entry fills at its own pace.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/attentions.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/microsoft_attentions.h"
#include "frontends/onnx/ops/normalizations.h"

namespace spmd::onnx {
namespace {

// Refuses what the formulas below leave out.
void check_group_query(Node& node) {
  for (const char* name : {"k_quant_type", "v_quant_type"}) {
    if (node.text(name, "NONE") != "NONE") {
      node.unsupported(fmt::format("a quantised cache (its attribute {})", name));
    }
  }
  if (node.has(12) || node.has(13)) node.unsupported("a quantised cache (k_scale, v_scale)");
  if (node.flag("sliding_window_cache", false)) {
    node.unsupported("its attribute sliding_window_cache");
  }
  if (node.wants(3) || node.integer("qk_output", 0) != 0) node.unsupported("its output output_qk");
}

// Heads of x [batch, heads, length, size] normalised by input `weight`, if there is one, and
// rotated to their positions, if the node says so.
Expr prepared_heads(Node& node, Expr x, int weight, const Expr& positions) {
  if (const Expr scale = node.in_or_none(weight)) {
    const Expr wide = convert(x, compute_type(x.dtype()));
    x = convert(rms_normalized(wide, {3}, node.number("qk_norm_epsilon", 1e-6)), x.dtype()) * scale;
  }
  if (!node.flag("do_rotary", false)) return x;
  const Expr at = node.has(9) ? convert(node.in(9), DType::kS64) : positions;
  const Expr turned = rotated(transpose(x, {0, 2, 1, 3}), take(node.in(7), at, 0),
                              take(node.in(8), at, 0), node.flag("rotary_interleaved", false));
  return transpose(turned, {0, 2, 1, 3});
}

// The cache [batch, heads, room, size] with `now` written from each batch entry's `past` on.
Expr updated_cache(Node& node, const Expr& cache, const Expr& now, const Expr& past, int64_t room) {
  const Expr zero =
      splat(node.writer(), {now.dtype(), {now.dim(0), now.dim(1), room, now.dim(3)}}, 0);
  Expr old = zero;
  if (cache) {
    const int64_t missing = room - cache.dim(2);
    old = pad(cache, 0, {0, 0, 0, 0}, {0, 0, missing, 0});
  }
  const TensorType type{DType::kS64, {now.dim(0), 1, room, 1}};
  const Expr from = iota(node.writer(), type, 2) - reshape(past, {now.dim(0), 1, 1, 1});
  const int64_t length = now.dim(2);
  const Expr inside = greater_equal(from, 0.0) & less(from, static_cast<double>(length));
  const Expr at = broadcast_to(clamp(0, from, static_cast<double>(length - 1)), old.shape());
  return select(broadcast_to(inside, old.shape()), take_along(now, at, 2), old);
}

// Softmax with one more entry in the denominator, of which nobody sees the value: `sink` [heads].
Expr softmax_with_sink(const Expr& scores, const Expr& allowed, const Expr& sink) {
  Dims shape = scores.shape();
  const int64_t keys = shape[3];
  shape[3] = 1;
  const Expr parts[] = {select(allowed, scores, lowest_value(scores.dtype())),
                        broadcast_in(sink, shape, {1})};
  return slice_dim(softmax(concatenate(parts, 3), {3}), 3, 0, keys);
}

// What each query [batch, 1, queries, keys] may see: keys up to its own, inside the window.
Expr causal_window(Node& node, const Expr& past, int64_t queries, int64_t room) {
  const Dims shape = {past.dim(0), 1, queries, room};
  const Expr key = iota(node.writer(), {DType::kS64, shape}, 3);
  const Expr query = iota(node.writer(), {DType::kS64, shape}, 2) +
                     broadcast_to(reshape(past, {past.dim(0), 1, 1, 1}), shape);
  Expr allowed = less_equal(key, query);
  const int64_t window = node.integer("local_window_size", -1);
  if (window > 0) allowed = allowed & greater(key + static_cast<double>(window), query);
  return allowed;
}

struct GroupQuery {
  Expr q, k, v;
  int64_t repeats = 1;  // query heads of each key head
};

GroupQuery group_query_heads(Node& node) {
  const int64_t heads = heads_of(node);
  const int64_t shared =
      node.at_least(1, node.integer("kv_num_heads"), "its attribute kv_num_heads");
  node.require(heads % shared == 0, "its heads do not share keys evenly");
  const Expr q = node.in(0);
  node.require(q.rank() == 3, "its queries have not three dimensions");
  if (node.has(1)) {
    node.require(node.in(1).rank() == 3 && node.in(2).rank() == 3,
                 "its keys and values have not three dimensions");
    if (node.in(1).dim(1) != q.dim(1)) node.unsupported("keys of another length than the queries");
    return {split_heads(q, heads), split_heads(node.in(1), shared), split_heads(node.in(2), shared),
            heads / shared};
  }
  node.require(q.dim(2) % (heads + 2 * shared) == 0, "its packed input does not fit its heads");
  const int64_t size = q.dim(2) / (heads + 2 * shared);
  const auto part = [&](int64_t start, int64_t count) {
    return split_heads(slice_dim(q, 2, start * size, (start + count) * size), count);
  };
  return {part(0, heads), part(heads, shared), part(heads + shared, shared), heads / shared};
}

void group_query_attention(Node& node) {
  check_group_query(node);
  GroupQuery in = group_query_heads(node);
  const int64_t batch = in.q.dim(0), queries = in.q.dim(2);
  const int64_t total = node.known_integer(6);  // of the longest batch entry
  const Expr past_keys = node.in_or_none(3), past_values = node.in_or_none(4);
  const int64_t room = std::max(total, past_keys ? past_keys.dim(2) : 0);
  node.require(total >= queries, "its total_sequence_length is less than its queries");
  const Expr ends = convert(node.in(5), DType::kS64) + 1.0;  // a batch entry's keys, of all steps
  node.require(ends.num_elements() == batch, "its seqlens_k does not fit the batch");
  // The first step starts every entry at 0, also the padded ones.
  const Expr past = total == queries ? splat(node.writer(), {DType::kS64, {batch, 1}}, 0)
                                     : reshape(ends, {batch, 1}) - static_cast<double>(queries);
  const Expr positions = query_positions(node, past, queries);
  in.q = prepared_heads(node, in.q, 14, positions);
  const Expr now = prepared_heads(node, in.k, 15, positions);
  const Expr keys = updated_cache(node, past_keys, now, past, room);
  const Expr values = updated_cache(node, past_values, in.v, past, room);
  node.set(1, keys);
  node.set(2, values);

  AttentionInputs heads{in.q, repeated_heads(keys, in.repeats), repeated_heads(values, in.repeats)};
  if (const Expr bias = node.in_or_none(10)) {
    node.require(bias.rank() == 4 && bias.dim(3) <= room, "its attention_bias does not fit");
    heads.bias = pad(bias, 0, {0, 0, 0, 0}, {0, 0, 0, room - bias.dim(3)});
  }
  const Expr scores = biased_scores(node, heads);
  Expr allowed;
  if (node.flag("causal", true)) {
    allowed = causal_window(node, past, queries, room);
  } else {
    const TensorType type{DType::kS64, {batch, 1, queries, room}};
    allowed = less(iota(node.writer(), type, 3), reshape(ends, {batch, 1, 1, 1}));
  }
  allowed = broadcast_to(allowed, scores.shape());
  Expr sink = node.in_or_none(11);
  if (!sink && node.flag("smooth_softmax", false)) {
    sink = splat(node.writer(), {scores.dtype(), {scores.dim(1)}}, 0);
  }
  const Expr weights = sink ? softmax_with_sink(scores, allowed, convert(sink, scores.dtype()))
                            : masked_softmax(scores, allowed);
  node.set(0, joined_heads(matmul(convert(weights, in.q.dtype()), heads.v)));
}

}  // namespace

std::span<const OpHandler> microsoft_group_query_ops() {
  static constexpr OpHandler kOps[] = {
      {"GroupQueryAttention", group_query_attention, Accepts::kFloats, 1, kMicrosoft},
  };
  return kOps;
}

}  // namespace spmd::onnx
