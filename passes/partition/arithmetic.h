// Whole-number helpers of code that counts rows and dimensions.
#pragma once

#include <cstddef>
#include <cstdint>

namespace spmd {

// A dimension, rank or row as an index of a vector.
inline size_t at(int64_t index) { return static_cast<size_t>(index); }

// Quotients rounded down and up; b > 0.
inline int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }
inline int64_t ceil_div(int64_t a, int64_t b) { return -floor_div(-a, b); }

}  // namespace spmd
