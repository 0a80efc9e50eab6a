// Inputs to compare two stages of a program with.
#pragma once

#include <cstdint>
#include <vector>

#include "ir/module.h"

namespace spmd {

enum class InputStyle : uint8_t {
  // For training programs. Floats are multiples of 1/4 between -1 and 1, so that sums are exact in
  // any order as long as they are short enough; integers lie between 0 and 3, so that they index
  // whatever they index. Second moments, told by their names, are not negative.
  kProgram,
  // Whole numbers in every type: floats between -3 and 3, integers mostly between 0 and 5, some
  // between -3 and 14 (0 and 14 when unsigned), which as indices may be out of range.
  kWhole,
  // Floats anywhere between -2 and 2; the rest as in kWhole.
  kReal,
};

// One literal per argument of main. The same seed gives the same values.
std::vector<Literal> random_inputs(const Module& module, uint64_t seed,
                                   InputStyle style = InputStyle::kProgram);

}  // namespace spmd
