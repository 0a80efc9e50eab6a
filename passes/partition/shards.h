// Global tensors and the parts that ranks hold.
#pragma once

#include <span>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace spmd {

// The part of `global` that `device` holds: block index_along(axes) of `local`'s shape in every
// dimension; what lies beyond the global shape is zero.
Literal local_part(const Literal& global, const Sharding& sharding, const TensorType& local,
                   int64_t device, const Mesh& mesh);

// The inverse, from the parts of all devices; padding is cut off. Every part must agree with what
// other devices hold of the same block: a difference throws InternalError.
Literal from_parts(std::span<const Literal> parts, const Sharding& sharding,
                   const Dims& global_shape, const Mesh& mesh);

// Runs a localised module on all devices of its mesh with the reference evaluator: global arguments
// in, global results out.
std::vector<Literal> evaluate_partitioned(const Module& module, std::span<const Literal> arguments);

}  // namespace spmd
