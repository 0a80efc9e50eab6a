// Comparing two stages of a program by running both.
#pragma once

#include <functional>
#include <span>
#include <string>
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

// How far a result may be from what is expected.
struct Allowance {
  double distance = 0;          // absolute, of each element
  std::vector<bool> undecided;  // elements that may be anything; empty: none

  bool is_undecided(int64_t element) const {
    return !undecided.empty() && undecided[static_cast<size_t>(element)];
  }
};

// Where `found` first is further from `expected` than `allowances` (one per result; none: not at
// all): "result 0 element 3 is 5, expected 4". Empty when it is nowhere. NaNs are equal, and so are
// zeros of either sign.
std::string first_difference(std::span<const Literal> expected, std::span<const Literal> found,
                             std::span<const Allowance> allowances = {});

// Calls visit(element, a's, b's) for all elements of two tensors of one type; of complex numbers
// for the real part, then for the imaginary one. Different integers are different numbers, however
// large.
void for_each_pair(const Literal& a, const Literal& b,
                   const std::function<void(int64_t, double, double)>& visit);

// The largest magnitude of a finite element; 0 when there is none.
double largest_finite(const Literal& literal);

}  // namespace spmd
