// Another mesh for a module: `--mesh` overrides the file's sizes, since shapes are global.
#pragma once

#include "ir/module.h"

namespace spmd {

// Gives the module another mesh. Axes go by name, in any order; every axis of the file must be
// there, further ones may be. A mesh equal to the file's but without device order keeps the file's.
// Throws UserError when an axis is missing, when a manual computation is over an axis whose size
// changes, when explicit device groups or pairs would no longer fit, and when a sub-axis does not
// divide the new size; the module is then as it was.
void set_mesh(Module& module, const Mesh& mesh);

}  // namespace spmd
