// spmd-opt --evaluate: what a program computes, by the reference evaluator.
#pragma once

#include <string>

namespace spmd {

// Evaluates main of the file, or of each of its modules where "// -----" separates several, and
// prints the results. Tells every check (check.expect_*) that fails, on standard error; returns how
// many do. Throws UserError, for a main that takes arguments too.
int evaluate_file(const std::string& path);

}  // namespace spmd
