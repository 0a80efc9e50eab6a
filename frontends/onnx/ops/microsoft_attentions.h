// What ONNX Runtime's kinds of attention share. Heads are a dimension: [batch, heads, length,
// size].
#pragma once

#include "frontends/onnx/node.h"

namespace spmd::onnx {

struct AttentionInputs {
  Expr q, k, v;
  // Added to the scores, each none or broadcast to [batch, heads, queries, keys].
  Expr mask, bias;
  Expr allowed;  // where a query may look at all; none: everywhere
};

// scale * q k^T with mask and bias added, by the node's attributes scale and softcap.
Expr biased_scores(Node& node, const AttentionInputs& in);
// The attribute num_heads.
int64_t heads_of(Node& node);
// The positions [batch, length] of the queries, of which the first is number `past` [batch, 1].
Expr query_positions(Node& node, const Expr& past, int64_t length);

}  // namespace spmd::onnx
