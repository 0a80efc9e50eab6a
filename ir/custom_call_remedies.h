// What to export in the place of custom calls, whose code is outside of the program.
#pragma once

#include <string>
#include <vector>

namespace spmd {

// A remedy for every kind among the calls' targets, each in a line of its own: callbacks into
// Python, factorisations of a linear algebra library, kernels written for a device, and the rest.
std::string custom_call_remedies(const std::vector<std::string>& targets);

}  // namespace spmd
