// Random sharded programs over all op families, and inputs on which their sums are exact.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace spmd::testing {

// A verified module: a few ops, a mesh of up to 12 devices in any order, shardings on some
// arguments, results and values in between, some arguments aliased with results.
Module random_program(uint64_t seed);

// One literal per argument of main: small integers, also in floats, so that every order of addition
// gives the same sum. Integers may be out of range as indices.
std::vector<Literal> exact_inputs(const Module& module, uint64_t seed);

}  // namespace spmd::testing
