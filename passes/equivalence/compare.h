// Comparing two stages of a program by running both.
#pragma once

#include <span>
#include <vector>

#include "ir/module.h"

namespace spmd {

// The largest |a - b| over the largest |a| of its tensor (absolute where the tensor is zero), and
// where it is. Two NaNs are equal, a NaN and a number differ infinitely.
struct Difference {
  double relative = 0;
  size_t result = 0;  // number of main's result
  int64_t element = 0;
  int64_t nans = 0;  // elements that are NaN in both
};

// True for modules whose types are those of one rank.
bool is_localized(const Module& module);

// What both compute from the same whole tensors. A localised module is run on all ranks of its
// mesh.
Difference compare_modules(const Module& before, const Module& after,
                           std::span<const Literal> inputs);

Difference compare_results(const std::vector<Literal>& before, const std::vector<Literal>& after);

}  // namespace spmd
