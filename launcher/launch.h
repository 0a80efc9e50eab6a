// The program spmd-run, from arguments to exit code.
#pragma once

namespace spmd {

int launch(int argc, const char* const* argv);

}  // namespace spmd
