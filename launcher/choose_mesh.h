// Which mesh a program runs on.
#pragma once

#include <optional>

#include "ir/module.h"
#include "launcher/launch_environment.h"
#include "sharding/annotations/mesh_spec.h"

namespace spmd {

// The mesh that `spec` (or, without one, the program's file) asks for, on `ranks` ranks. Throws
// UserError when it has another number of devices, saying what to pass or how to start instead.
Mesh choose_mesh(const Module& module, const std::optional<MeshSpec>& spec, int64_t ranks,
                 const LaunchEnvironment& launch);

// For checks, where no rank exists: the number of devices is that of the mesh. `ranks` 0: not
// given.
Mesh choose_mesh_for_check(const Module& module, const std::optional<MeshSpec>& spec,
                           int64_t ranks);

}  // namespace spmd
