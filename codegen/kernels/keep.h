// What a row's threads keep in registers, so that memory is read once for all stages.
#pragma once

#include <vector>

#include "codegen/kernels/loop_ir.h"

namespace spmd::codegen::kernels {

// Values of the first stage, those of the fewest bytes from which later stages can go on without
// reading the row's elements again: a minimum cut between what the first stage loads of a row and
// what later ones store and reduce. What later stages load alone, and what is the same for all
// rows, counts for nothing. `elements`: per stage, the nodes per element that it computes, in
// order.
std::vector<int> kept_for_later(const Kernel& kernel,
                                const std::vector<std::vector<int>>& elements);

}  // namespace spmd::codegen::kernels
