// Structural equality of ops.
#pragma once

#include "ir/module.h"

namespace spmd {

// Equal code, attributes, operands (in either order for commutative ops), result types, result
// shardings and regions; locations do not count.
bool equal_ops(const Function& fn, OpId a, OpId b);

// Equal for equal ops. Looks at a bounded part of large constants and at the size of regions only.
size_t hash_op(const Function& fn, OpId id);

}  // namespace spmd
