// spmd-opt reduce: the smallest program that fails as a user's program does.
#pragma once

#include <optional>
#include <string>

namespace spmd {

struct ReduceOptions {
  std::string input;   // any format that spmd-run reads
  std::string mesh;    // "data=2,model=4", or as the file says
  std::string config;  // YAML file with a mesh and sharding rules
  std::string output;  // file for the smallest program so far; empty or "-": standard output
  uint64_t seed = 0;   // of the inputs that stages are compared on
  std::optional<double> tolerance;  // StageOptions::tolerance
  double seconds = 60;              // longest check of one candidate
};

// Finds out how the program fails: while it is compiled, or because a stage means something else
// than the program (launcher/stages.h). Makes it smaller as long as it fails alike, and writes what
// is left as StableHLO text. Progress goes to standard error. Throws Failed: for a file that cannot
// be read or written, and for a program in which nothing fails. Returns the exit code.
int run_reduce(const ReduceOptions& options);

}  // namespace spmd
