// Steps of shrink(): each makes a module smaller in one way, and is generated for one module.
#pragma once

#include <functional>
#include <vector>

#include "ir/module.h"

namespace spmd::shrinking {

// Returns false when it does not apply. The module that it leaves may not verify; it need not be
// without dead ops and arguments either.
using Edit = std::function<bool(Module&)>;

// Fewer results; or one, an earlier value.
std::vector<Edit> result_edits(const Module& module);
// Without `count` ops that follow each other in program order: new arguments stand for what they
// gave. Ops of reducers and comparators stay.
std::vector<Edit> cut_edits(const Module& module, size_t count);
// Ops replaced by an operand, branches and loops by one of their bodies, calls by what they call.
std::vector<Edit> bypass_edits(const Module& module);
// One argument where there are two of a type.
std::vector<Edit> argument_edits(const Module& module);
// Without shardings, or with less in them.
std::vector<Edit> sharding_edits(const Module& module);
// Meshes in natural order, with shorter and fewer axes.
std::vector<Edit> mesh_edits(const Module& module);
// Shorter dimensions, everywhere at once; f32 and i32 for other types of floats and integers.
std::vector<Edit> size_edits(const Module& module);
std::vector<Edit> element_edits(const Module& module);
// Without aliases, names and locations.
std::vector<Edit> name_edits(const Module& module);

// Calls visit(sharding) for each sharding of main: of values, results and constraints. Shardings of
// manual computations, which types depend on, are not among them.
void for_each_sharding(Module& module, const std::function<void(Sharding&)>& visit);

}  // namespace spmd::shrinking
