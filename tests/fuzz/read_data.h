// Files of tests/data as seeds.
#pragma once

#include <fstream>
#include <sstream>
#include <string>

#include "support/error.h"

namespace spmd::testing {

inline std::string read_data(const std::string& name) {
  std::ifstream file(std::string(SPMD_SOURCE_DIR) + "/tests/data/" + name, std::ios::binary);
  if (!file) throw InternalError("no test data " + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace spmd::testing
