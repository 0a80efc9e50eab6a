// insert_reshards: makes every op's operands placed as the op needs them.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Does: chooses for every op of main() which axes shard which factor, at the least cost of operand
// reshards, result reshards and replicated work, and inserts `spmd.reshard` where a value is placed
// otherwise. Sharding constraints become reshards.
// Assumes: calls inlined, every value has a sharding (propagate_shardings).
// Ensures: operands and results of every op agree on the axes of each factor; a result is partial
// (unreduced) exactly along the axes of the op's reduction factors; reshards are shared within a
// block and by the blocks inside it. The module still has global meaning.
// Here: after propagation, so that the cost of a choice is seen in both directions.
Pass insert_reshards_pass();

}  // namespace spmd
