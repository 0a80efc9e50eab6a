// How messages and reports name an op.
#pragma once

#include <string>

#include "ir/module.h"

namespace spmd {

// "stablehlo.add at model.py:3", or the name alone where it has no location.
std::string place_of(const Op& op);
// By name, or "argument 3", "result 0".
std::string name_of_argument(const Function& fn, size_t index);
std::string name_of_result(const Function& fn, size_t index);

}  // namespace spmd
