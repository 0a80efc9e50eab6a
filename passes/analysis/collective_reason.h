// Why a localised module communicates.
#pragma once

#include <string>

#include "ir/module.h"

namespace spmd {

// One line about a collective of main(): where what it moves comes from, and what for. For example
//   "params.w, for stablehlo.dot_general at model.py:3 (operand 1)"
//   "parts of stablehlo.dot_general at model.py:3, for result 0"
// Ops that only pass values through (converts, reshapes, slices, ...) are seen through, so that the
// op at either end is one that the user knows.
std::string reason_of(const Module& module, OpId collective);

}  // namespace spmd
