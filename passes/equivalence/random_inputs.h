// Inputs to compare two stages of a program with.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace spmd {

// One literal per argument of main: floats are multiples of 1/4 between -1 and 1, so that sums are
// exact in any order as long as they are short enough; integers lie between 0 and 3, so that they
// index whatever they index. Second moments, told by their names, are not negative. The same seed
// gives the same values.
std::vector<Literal> random_inputs(const Module& module, uint64_t seed);

}  // namespace spmd
