// The exported training programs in tests/data/models, with their data and the numbers that JAX
// computed for them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/literal.h"

namespace spmd::testing {

// Tensors by name. Throws std::runtime_error when the file is not a safetensors file.
std::map<std::string, Literal> read_safetensors(const std::string& path);

// How far two tensors lie apart.
struct Deviation {
  double difference = 0;  // Frobenius norm of a - b
  double norm = 0;        // Frobenius norm of b
};
Deviation deviation(const Literal& a, const Literal& b);

struct ExportedProgram {
  struct Argument {
    std::string name;
    Dims shape;
    bool is_state = false;
    int result = -1;    // of state: the result that replaces it
    double spread = 0;  // how far JAX's own sharded and unsharded runs differ, relative
  };

  std::string name;
  std::string folder;
  int steps = 0;
  std::vector<Argument> arguments;
  size_t loss_result = 0;
  std::map<std::string, Literal> state, batches, expected;

  // Arguments of the first step.
  std::vector<Literal> initial_arguments() const;
  // Puts the batch of `step` in its place.
  void set_batch(std::vector<Literal>& arguments, int step) const;
  // Replaces state arguments by the results of a step.
  void advance(std::vector<Literal>& arguments, const std::vector<Literal>& results) const;
  // By state tensor, the ratio of its deviation from what JAX computed to what is allowed; above 1
  // is wrong.
  std::map<std::string, double> state_deviations(const std::vector<Literal>& arguments) const;
};

const std::vector<std::string>& exported_program_names();
ExportedProgram load_exported_program(const std::string& name,
                                      const std::string& root = SPMD_SOURCE_DIR
                                      "/tests/data/models");

std::string read_file(const std::string& path);

}  // namespace spmd::testing
