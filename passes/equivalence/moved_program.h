// A program whose numbers are a little off.
#pragma once

#include <random>

#include "ir/module.h"

namespace spmd {

// Half the distance of 1 to the next number.
double rounding_unit(DType dtype);

// The literal with each element moved by a random part of `units` units of the last place, of
// `unit` or, where that is coarser, of its own type. Integers and complex numbers stay.
Literal moved(const Literal& literal, double unit, double units, std::mt19937_64& random);

// The module with its constants moved so, and the result of every op that rounds: by `units` units,
// and one more for each term of a sum.
Module moved_program(const Module& module, double unit, double units, std::mt19937_64& random);

}  // namespace spmd
