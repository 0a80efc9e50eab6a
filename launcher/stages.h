// A program beside itself: evaluated as it is, after every pass of the compiler, and run.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/module.h"
#include "passes/equivalence/random_inputs.h"
#include "passes/pass.h"

namespace spmd {

struct StageFailure {
  // The first stage at which something is wrong: "evaluate" (the program as it is), a pass with its
  // number among all, "localize (16)", then "emit_plan" and "run".
  std::string stage;
  // Whether its results differ; else it threw.
  bool mismatch = false;
  std::string what;  // the difference or the error

  std::string to_string() const;  // "localize (16): result 0 element 3 is 5, expected 4"
};

struct StageOptions {
  InputStyle inputs = InputStyle::kProgram;
  uint64_t seed = 0;  // of the inputs
  // How far results may differ: not at all when `exact`; else `tolerance`, relative to the largest
  // element of a result; without one, as far as rounding can explain
  // (passes/equivalence/rounding.h).
  bool exact = false;
  std::optional<double> tolerance;
  CostModel cost;                              // that the compiler decides with
  KernelTarget kernels = KernelTarget::kNone;  // what the Plan that is run has compiled
  bool evaluate = true;                        // false: only compile, for what fails there
  // Told, once the program was evaluated, how many elements of its results will be compared with
  // nothing: rounding decides whether they are finite.
  std::function<void(int64_t elements)> on_undecided;
  // Called with the name of each stage before it.
  std::function<void(const std::string& stage)> on_stage;
  // Sees the module after each pass that went well.
  std::function<void(const std::string& pass, const Module&)> inspect;
};

// Evaluates the module on random inputs, then again after every pass of the compiler: with global
// meaning up to pad_uneven (padding filled with what must not matter), on all pretend ranks from
// localize on; at last runs the Plan on as many threads. Results must agree throughout, and the
// module must verify. Nothing is thrown.
std::optional<StageFailure> check_stages(const Module& module, const StageOptions& options);

}  // namespace spmd
