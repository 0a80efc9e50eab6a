// Settings that a run cannot follow, though nothing is wrong with them.
#pragma once

#include <string>
#include <vector>

#include "launcher/config.h"

namespace spmd {

// What to warn of: a line, and one with what to do. `is_plan`: MODEL is a compiled Plan; `has_gpu`:
// of this run's ranks.
std::vector<std::string> ignored_settings(const RunConfig& config, bool is_plan, bool has_gpu);

}  // namespace spmd
