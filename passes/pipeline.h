// The pipeline: the one ordered list of what happens to a program.
#pragma once

#include <vector>

#include "passes/pass.h"

namespace spmd {

// From an imported module to a localised one, ready for codegen/emit_plan.
std::vector<Pass> compile_pipeline(const CompileOptions& options);

}  // namespace spmd
