// What the element types hold exactly.
#pragma once

#include "ir/dtype.h"
#include "tests/differential/random.h"

namespace spmd::testing {

// Sums of whole numbers are exact in any order while the sum of their magnitudes is no larger. Of
// floats, a good deal less than the format allows; integers wrap around and are always exact.
double largest_exact(DType dtype);

// Numbers below and above all that a program computes, for minima and maxima to start from.
double low_end(DType dtype);
double high_end(DType dtype);

// The largest magnitude of an integer type; integers are taken modulo this.
double largest_integer(DType dtype);

// A type of number, mostly f32 or i32. `narrow` types are drawn only when asked for: their rounding
// hides every other difference.
DType random_number(Random& random, bool narrow);
DType random_integer(Random& random);

}  // namespace spmd::testing
