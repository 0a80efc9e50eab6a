// Passes by name.
#pragma once

#include "passes/pass.h"

namespace spmd {

// Every pass of the pipeline once, in the order of its first use.
const std::vector<Pass>& all_passes();

// The pass of that name. Throws UserError with the nearest known name.
const Pass& pass_named(std::string_view name);

// Throws UserError when options.stop_after or options.skip name none of `passes`; run_passes()
// (passes/pass.h) begins with this.
void check_pass_names(const std::vector<Pass>& passes, const PipelineOptions& options);

}  // namespace spmd
