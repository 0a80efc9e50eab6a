// The loop over the steps of a training program: state in, batches through, metrics and state out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/executor.h"

namespace spmd {

// A value that an argument has from the start: state, or held in every step.
struct InitialValue {
  int argument = 0;
  TensorView value;                               // global
  std::string source;                             // "state.safetensors: tensor w", for messages
  std::optional<RandomDraw> draw = std::nullopt;  // instead of `value`
};

// A value that advances: step i uses slice i of the leading dimension.
struct BatchValue {
  int argument = 0;
  TensorView values;
  std::string source;
};

struct StepReport {
  int64_t step = 0;  // from 0
  std::vector<double> metrics;
  StepTiming timing;
};

struct TrainingRun {
  std::vector<InitialValue> initial;
  std::vector<BatchValue> batches;
  int64_t steps = -1;  // -1: as many as there are batches, or 1 without batches
  // Called on every rank after each step; false ends the run early (on all ranks alike).
  std::function<bool(const StepReport&)> on_step;
};

class TrainingLoop {
 public:
  explicit TrainingLoop(Executor& executor);

  // The results that are metrics: scalars that no argument aliases.
  const std::vector<int>& metrics() const { return metrics_; }
  // The results that are checks (support/check_results.h).
  const std::vector<int>& checks() const { return checks_; }

  // Checks everything and sets the initial values. Throws UserError, before any step is run, when
  // an argument has no value, a type or shape is wrong, batches run out before `steps`, or differ
  // in number where nothing says how many steps to run.
  void prepare(TrainingRun run);
  int64_t steps() const { return run_.steps; }

  // Runs all steps.
  void run();

  // Writes the arguments that results alias to a safetensors file, under the names given for them,
  // else their own. All ranks call this together; rank 0 writes, and throws OutputError.
  void write_state(const std::string& path, const std::map<int, std::string>& names = {});

 private:
  void check_batches();
  void check_batch(const BatchValue& batch) const;
  void check_all_bound() const;
  void set_batches(int64_t step);

  Executor& executor_;
  TrainingRun run_;
  std::vector<int> metrics_, checks_;
};

}  // namespace spmd
