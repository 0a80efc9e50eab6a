// Formulas that ONNX's attention and the fused ones of other domains share. Heads are a dimension:
// [batch, heads, length, size].
#pragma once

#include "frontends/onnx/expr.h"

namespace spmd::onnx {

// [batch, length, heads * size] to heads, and back.
Expr split_heads(const Expr& x, int64_t heads);
Expr joined_heads(const Expr& x);
// Each head `times` times in a row.
Expr repeated_heads(const Expr& x, int64_t times);

struct ScoreOptions {
  double scale = 1;
  double softcap = 0;  // 0: none
};
// scale * q k^T, softcapped: [batch, heads, queries, keys].
Expr attention_scores(const Expr& q, const Expr& k, const ScoreOptions& options);
// Which keys (last dimension) each query may see: those up to `offset` after its own number. i1
// [queries, keys].
Expr causal_mask(Writer& writer, int64_t queries, int64_t keys, int64_t offset);
// Softmax along the last dimension of scores where `allowed` (none: everywhere); rows in which
// nothing is allowed are zero.
Expr masked_softmax(const Expr& scores, const Expr& allowed);

// Rotates pairs of the first 2 * cos.size elements of each head of x [batch, length, heads, size];
// cos and sin are [batch, length, size]. `interleaved`: pairs are neighbours, else halves.
Expr rotated(const Expr& x, const Expr& cos, const Expr& sin, bool interleaved);

}  // namespace spmd::onnx
