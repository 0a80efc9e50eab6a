// The file that --check compares with, bound to the metrics and the state of a program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "launcher/expectation.h"
#include "runtime/executor.h"
#include "runtime/io/tensor_source.h"

namespace spmd {

class ExpectedValues {
 public:
  // Throws UserError for a tensor that is neither a metric (one number a step) nor a piece of the
  // state, one of another type or shape, and metrics that end before `steps`.
  ExpectedValues(const std::string& path, const std::string& tolerances_path,
                 const plan::Plan& plan, const std::vector<std::string>& metrics, int64_t steps);

  // Compares what is known of metric number `metric`, if the file has it.
  void compare_metric_values(size_t metric, const std::vector<double>& values,
                             Comparison& comparison) const;
  // Why the file's state is not to be compared, though it has some; empty: it is.
  const std::string& state_skipped() const { return state_skipped_; }
  // Metrics, and state where that is compared, that the file has no value for.
  std::vector<std::string> without_expectation() const;
  // Compares an argument's final value, if the file has it and is about as many steps.
  void compare_argument(int argument, const TensorView& value, Comparison& comparison) const;

 private:
  void bind_metrics(const std::vector<std::string>& metrics, int64_t steps);
  void bind_state(const plan::Plan& plan);

  std::string path_;
  Tolerances tolerances_;
  std::unique_ptr<TensorSource> source_;
  std::vector<std::string> tensors_;      // that are not metrics
  std::vector<std::string> of_metric_;    // by metric: the tensor, or ""
  std::vector<std::string> of_argument_;  // by argument
  std::vector<std::string> metrics_;
  std::vector<std::string> unexpected_state_;  // names of arguments
  int64_t file_steps_ = 0;                     // of its longest metric
  std::string state_skipped_;
};

}  // namespace spmd
