// Options of spmd-opt.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/reduce_command.h"
#include "passes/pass.h"

namespace spmd {

enum class Emit { kText, kProto };

struct OptOptions {
  std::string input;
  std::vector<std::string> passes;
  bool pipeline = false;
  PipelineOptions run;
  bool verify_each = true;
  std::string mesh;
  std::vector<std::string> dims, inputs;  // --set-dim, --set-input
  bool print = false;
  bool print_locations = false;
  bool elide_constants = false;
  Emit emit = Emit::kText;
  std::string output;
  bool time_passes = false;
  bool list_passes = false;
  bool check = false;
  bool evaluate = false;
  double tolerance = 1e-5;
  uint64_t seed = 0;
  std::optional<ReduceOptions> reduce;  // the subcommand, and nothing of the above
};

// Parses the command line; prints help or a usage error and exits by itself.
OptOptions parse_options(int argc, char** argv);

}  // namespace spmd
