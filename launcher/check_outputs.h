// What a run writes, checked before anything runs.
#pragma once

#include "launcher/command_line.h"

namespace spmd {

// Throws UserError unless every output can be written and is no input and no other output. Makes
// the report's folder.
void check_outputs(const RunConfig& config, const CommandLine& line);

}  // namespace spmd
