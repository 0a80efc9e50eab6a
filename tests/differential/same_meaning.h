// Programs that mean the same at every stage.
#pragma once

#include <string>

#include "tests/differential/random_program.h"

namespace spmd::testing {

// Runs a module through all stages (launcher/stages.h) on several inputs, whole numbers and real
// ones, with link costs of several kinds.
void expect_same_meaning(const std::string& module);
// The same on links of one kind, as a failure of the soak run is printed.
void expect_same_meaning(Links links, const std::string& module);
// As the first, of main(), given by its signature and body, on a mesh such as "\"x\"=2".
void expect_same_meaning(const std::string& mesh, const std::string& main);

}  // namespace spmd::testing
