// spmd-run check: what a program needs on a mesh, without running it.
#pragma once

#include "launcher/command_line.h"

namespace spmd {

// Prints the check. Throws Failed (launcher/agreement.h).
void run_check(const CommandLine& line);

}  // namespace spmd
