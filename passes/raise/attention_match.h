// Finding attention: the forward pass from its product of queries and keys on, and the backward
// pass of the same layer, when it is in the same block.
#pragma once

#include "passes/raise/axes.h"

namespace spmd::raise {

// An op whose result is one of attention's, with that result's axes.
struct Product {
  OpId op = OpId::kNone;
  Axes axes;
};

struct AttentionMatch {
  OpId scores = OpId::kNone;  // the dot of queries and keys
  Labelled query, key, value;
  double scale = 1;
  bool causal = false;
  // Nullopt where only the backward pass is here and computes the probabilities again.
  std::optional<Product> output;
  // With a backward pass.
  Labelled d_output;
  std::optional<Product> d_query, d_key, d_value;
  bool has_backward() const { return d_query || d_key || d_value; }

  // kOne where the program has no such dimension: a batch of one, one head, groups of one query.
  Axis batch = kOne, queries = kOne, heads = kOne, groups = kOne;
  Axis keys = kOne, size = kOne, value_size = kOne;
};

// The attention whose products of queries and keys this dot is. Nullopt when it is none, or when
// anybody else uses what the pattern computes on the way, so that it would have to be kept anyhow.
std::optional<AttentionMatch> match_attention(const Function& fn, OpId dot);

}  // namespace spmd::raise
