// NVIDIA's libraries, found when the program runs.
#pragma once

#include <string>

#include "support/shared_library.h"

namespace spmd {

// Where a library is looked for: in SPMD_CUDA_LIBRARY_PATH (a folder) when that is set, then where
// the loader looks, then where the CUDA Toolkit lay when spmd was built.
std::vector<std::string> nvidia_library_names(const std::string& name);

// Loaded once. Throws UserError when it is nowhere; `product` names it for people.
const SharedLibrary& require_library(const std::string& name, const std::string& product);

// Throws UserError when the library is too old to have it.
void* require_function(const SharedLibrary& library, const char* function);

}  // namespace spmd
