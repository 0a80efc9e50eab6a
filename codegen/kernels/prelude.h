// What translation units of kernels begin with.
#pragma once

#include <string>

namespace spmd::codegen::kernels {

// Each opens a namespace, which the unit's end closes: names of ours hide the compiler's.
std::string cpp_prelude();
std::string cuda_prelude();
inline constexpr const char* kUnitEnd = "}  // namespace spmd_kernels\n";

}  // namespace spmd::codegen::kernels
