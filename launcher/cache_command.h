// spmd-run cache: the compiled kernels and timed choices that are kept between runs.
#pragma once

#include "launcher/command_line.h"

namespace spmd {

// The folder of entries of a kind (support/file_cache.h) that `config` or else the environment
// says; empty: none.
std::string cache_folder(const RunConfig& config, const char* kind);

// Lists or removes what is in the folders of all kinds, on standard output.
void run_cache(const CommandLine& line);

}  // namespace spmd
