#include "launcher/expected_values.h"

#include <algorithm>

#include "runtime/binding.h"
#include "support/error.h"

namespace spmd {

ExpectedValues::ExpectedValues(const std::string& path, const std::string& tolerances_path,
                               const plan::Plan& plan, const std::vector<std::string>& metrics,
                               int64_t steps)
    : path_(path), source_(open_tensor_source(path)), metrics_(metrics) {
  if (!tolerances_path.empty()) tolerances_ = read_tolerances(tolerances_path);
  tensors_ = source_->names();
  bind_metrics(metrics, steps);
  bind_state(plan);
  check_tolerance_names(tolerances_, tolerances_path, tensors_, path_);
  // The state of a file whose metrics go on is that of a later step.
  if (file_steps_ > steps && !tensors_.empty()) {
    state_skipped_ =
        fmt::format("{} has the state after {} steps, the run has {}", path_, file_steps_, steps);
  }
}

void ExpectedValues::bind_metrics(const std::vector<std::string>& metrics, int64_t steps) {
  if (tensors_.empty()) {
    throw UserError(path_, "holds no tensors to compare with",
                    "give metrics (one number a step) or state tensors by their names");
  }
  for (const std::string& metric : metrics) {
    const auto it = std::find(tensors_.begin(), tensors_.end(), metric);
    of_metric_.push_back(it == tensors_.end() ? "" : metric);
    if (it == tensors_.end()) continue;
    tensors_.erase(it);
    const TensorView values = source_->get(metric);
    if (values.shape.size() != 1 || values.shape[0] < steps) {
      throw UserError(path_,
                      fmt::format("metric {} is {}, but {} steps are asked for", metric,
                                  describe(values.dtype, values.shape), steps),
                      "give one number a step, or ask for fewer steps");
    }
    file_steps_ = std::max(file_steps_, values.shape[0]);
  }
}

void ExpectedValues::bind_state(const plan::Plan& plan) {
  std::vector<int> state;
  std::vector<std::string> names;
  for (int i = 0; i < plan.arguments_size(); ++i) {
    if (plan.arguments(i).aliased_result() < 0) continue;
    state.push_back(i);
    names.push_back(plan.arguments(i).name());
  }
  const std::vector<int> binding = bind_names(names, tensors_, path_, [&](size_t i, size_t tensor) {
                                     const plan::Placement& placement =
                                         plan.arguments(state[i]).placement();
                                     const TensorView value = source_->get(tensors_[tensor]);
                                     return value.dtype == placement.dtype() &&
                                            value.shape == plan::dims_of(placement.global_shape());
                                   }).tensors;
  of_argument_.resize(static_cast<size_t>(plan.arguments_size()));
  std::vector<bool> used(tensors_.size(), false);
  for (size_t i = 0; i < binding.size(); ++i) {
    if (binding[i] < 0) {
      unexpected_state_.push_back(plan::argument_name(plan, state[i]));
      continue;
    }
    const auto tensor = static_cast<size_t>(binding[i]);
    used[tensor] = true;
    of_argument_[static_cast<size_t>(state[i])] = tensors_[tensor];
    const plan::Placement& placement = plan.arguments(state[i]).placement();
    const TensorView value = source_->get(tensors_[tensor]);
    const std::vector<int64_t> shape = plan::dims_of(placement.global_shape());
    if (value.dtype == placement.dtype() && holds_shape(value.shape, shape)) continue;
    throw UserError(
        fmt::format("{}: tensor {}", path_, tensors_[tensor]),
        fmt::format("is {}; {} of the program is {}", describe(value.dtype, value.shape),
                    plan::argument_name(plan, state[i]), describe(placement.dtype(), shape)),
        "give a tensor of that type and shape, or leave it out");
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return;
  throw UserError(path_,
                  fmt::format("tensor {} is neither a metric nor state of the program",
                              tensors_[static_cast<size_t>(unused - used.begin())]),
                  metrics_.empty()
                      ? "the program has no metrics; name state tensors as the state file does"
                      : fmt::format("metrics are: {}", fmt::join(metrics_, ", ")));
}

std::vector<std::string> ExpectedValues::without_expectation() const {
  std::vector<std::string> names;
  for (size_t i = 0; i < metrics_.size(); ++i)
    if (of_metric_[i].empty()) names.push_back(metrics_[i]);
  if (state_skipped_.empty())
    names.insert(names.end(), unexpected_state_.begin(), unexpected_state_.end());
  return names;
}

void ExpectedValues::compare_metric_values(size_t metric, const std::vector<double>& values,
                                           Comparison& comparison) const {
  if (of_metric_[metric].empty()) return;
  comparison.metrics.push_back(
      compare_metric(metrics_[metric], values, source_->get(of_metric_[metric]), tolerances_));
}

void ExpectedValues::compare_argument(int argument, const TensorView& value,
                                      Comparison& comparison) const {
  const std::string& tensor = of_argument_[static_cast<size_t>(argument)];
  if (tensor.empty() || !state_skipped_.empty()) return;
  comparison.state.push_back(compare_state(tensor, value, source_->get(tensor), tolerances_));
}

}  // namespace spmd
