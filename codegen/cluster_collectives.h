// Clustering collectives: small ones are brought together, for combine_collectives() to join.
#pragma once

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// A call's latency is what a small tensor's collective costs; biases and scales have hundreds.
// Moves reductions (all_reduce, reduce_scatter) behind later ones that are needed no sooner than
// they are, and all_gathers before earlier ones whose tensors are there no sooner, with the small
// elementwise steps and reductions that lie between: what makes of a gradient what the optimizer
// reads, and of a parameter what is gathered. So all gradients of biases travel at the end of a
// backward pass, while the partial sums of two layers, of which one is needed for the other, stay
// where they are. What is joined with nothing stays too. No tensor above kSmallBytes is moved, and
// no call exceeds `byte_limit` bytes of input.
//
// Inside of loops and branches the same. To be called while temporary storages are written by one
// step; others are left alone.
void cluster_collectives(plan::Sequence& body, const StorageTable& storages, int64_t byte_limit);

inline constexpr int64_t kSmallBytes = int64_t{128} << 10;

}  // namespace spmd::codegen
