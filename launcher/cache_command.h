// spmd-run cache: the compiled kernels that are kept between runs.
#pragma once

#include "launcher/command_line.h"

namespace spmd {

// The folder that `line` or else the environment says; empty: none.
std::string kernel_cache_folder(const CommandLine& line);

// Lists or removes what is in it, on standard output.
void run_cache(const CommandLine& line);

}  // namespace spmd
