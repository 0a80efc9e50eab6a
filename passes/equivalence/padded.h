// Running a module whose dimensions pad_uneven has made longer.
#pragma once

#include <span>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace spmd {

// The low corner of a tensor, and around it, where `shape` is longer, values that no program should
// take for its own: far from what the rest is, and no valid index.
Literal resized(const Literal& literal, const Dims& shape);

// Runs main() of a module with global meaning whose types may be padded: `arguments` and results
// have the shapes that the program had before. Padding is filled as resized() does.
std::vector<Literal> evaluate_padded(const Module& module, std::span<const Literal> arguments);

}  // namespace spmd
