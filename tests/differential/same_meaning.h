// Programs that mean the same at every stage.
#pragma once

#include <string>

namespace spmd::testing {

// Runs a module through all stages (launcher/stages.h) on several inputs, whole numbers and real
// ones, with link costs of several kinds.
void expect_same_meaning(const std::string& module);
// The same of main(), given by its signature and body, on a mesh such as "\"x\"=2".
void expect_same_meaning(const std::string& mesh, const std::string& main);

}  // namespace spmd::testing
