// Damaged modules: what verify() accepts of them must still evaluate, compile and run.
#pragma once

#include <optional>
#include <string>

#include "ir/module.h"
#include "ir/module.pb.h"
#include "tests/differential/random.h"

namespace spmd::testing {

// Adds neighbours of the module's types (another element type, size or rank) to its table, so that
// damage() can refer to them.
void add_types(ir::Module& message, Random& random);

// Changes one thing somewhere: a number, a type, a name of the op table, the length of a list.
void damage(ir::Module& message, Random& random);

// Whether the module is small: it evaluates and runs in a moment.
bool is_small(const Module& module);

// Evaluates, compiles, and runs the Plan on threads, with random bytes as arguments. What anything
// but a UserError said, after "evaluate: ", "compile: " or "run: ".
std::optional<std::string> failure_of(const Module& module, Random& random);

}  // namespace spmd::testing
