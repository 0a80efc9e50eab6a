// What --init random gives an argument.
#pragma once

#include <string>

#include "runtime/plan/plan.h"
#include "runtime/random_draw.h"

namespace spmd {

// Floats: normal with deviation 0.02. Integers: uniform below their index bound (plan.proto), zeros
// where there is none. Zeros also for moments and counters, which are known by the words of their
// names. Depends on the argument's name, or its number where it has none, and its bound only.
RandomDraw draw_of(const plan::Plan& plan, int argument);

// Whether it gives an integer zeros for want of a bound.
bool lacks_bound(const plan::Argument& argument);

}  // namespace spmd
