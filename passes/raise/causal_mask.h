// Masks that let each query see the keys up to its own position, recognised by how they are made.
#pragma once

#include <optional>

#include "ir/module.h"

namespace spmd::raise {

// Of a tensor of booleans: which of its dimensions are the positions of queries and of keys (the
// tensor is the same along the others), and whether true means that the key is hidden.
struct CausalMask {
  int64_t query_dim = 0, key_dim = 0;
  bool hides = false;
};

// Nullopt when `mask` is none, or not seen to be one: a comparison of two counters, through
// broadcasts, reshapes, transposes, negations and selections of constants.
std::optional<CausalMask> causal_mask(const Function& fn, ValueId mask);

}  // namespace spmd::raise
