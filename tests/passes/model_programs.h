// The exported training programs in tests/data/models, with the data of their first step.
#pragma once

#include <string>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace spmd::testing {

// Folder names, sorted.
std::vector<std::string> model_names();

struct ModelProgram {
  Module module;
  std::vector<Literal> arguments;  // state before step 0, first batch
};
ModelProgram load_model(const std::string& name);

}  // namespace spmd::testing
