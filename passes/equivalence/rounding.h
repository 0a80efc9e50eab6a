// How far rounding alone may move a program's results.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"
#include "passes/equivalence/compare.h"

namespace spmd {

// Differences that another order of additions, or another correct implementation of a function, can
// explain: one per result of main. Found by running the program again with its floating inputs, its
// constants and whatever its ops round moved by a few units of the last place of the coarsest
// floating-point type that it computes in (Monte Carlo arithmetic: Parker 1997). Elements that are
// finite in one of these runs and infinite or NaN in another are undecided; the others of their
// result are not. `expected` is what main() gives for `arguments`.
std::vector<Allowance> rounding_allowances(const Module& module, std::span<const Literal> arguments,
                                           std::span<const Literal> expected, uint64_t seed);

}  // namespace spmd
