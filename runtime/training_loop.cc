#include "runtime/training_loop.h"

#include <algorithm>
#include <optional>
#include <set>

#include "runtime/io/safetensors.h"
#include "support/error.h"

namespace spmd {

TrainingLoop::TrainingLoop(Executor& executor) : executor_(executor) {
  const plan::Plan& plan = executor.plan();
  std::set<int> aliased;
  for (const plan::Argument& argument : plan.arguments()) aliased.insert(argument.aliased_result());
  for (int r = 0; r < plan.results_size(); ++r) {
    if (aliased.count(r) || plan::element_count(plan.results(r).placement().global_shape()) != 1)
      continue;
    metrics_.push_back(r);
    metric_names_.push_back(plan.results(r).name());
  }
  for (size_t i = 0; i < metric_names_.size(); ++i)
    if (metric_names_[i].empty())
      metric_names_[i] = metrics_.size() == 1 ? "loss" : fmt::format("result{}", metrics_[i]);
}

void TrainingLoop::prepare(TrainingRun run) {
  run_ = std::move(run);
  check_all_bound();
  check_batches();
  for (const InitialValue& initial : run_.initial)
    executor_.set_argument(initial.argument, initial.value, initial.source);
}

void TrainingLoop::check_all_bound() const {
  const plan::Plan& plan = executor_.plan();
  std::set<int> bound;
  for (const InitialValue& initial : run_.initial) bound.insert(initial.argument);
  for (const BatchValue& batch : run_.batches) bound.insert(batch.argument);
  std::string missing;
  int count = 0;
  for (int a = 0; a < plan.arguments_size(); ++a) {
    if (bound.count(a)) continue;
    const plan::Argument& argument = plan.arguments(a);
    if (++count <= 8)
      missing += fmt::format(
          "\n  {} {}", argument.name().empty() ? fmt::format("argument {}", a) : argument.name(),
          describe(argument.placement().dtype(),
                   plan::dims_of(argument.placement().global_shape())));
  }
  if (count == 0) return;
  if (count > 8) missing += fmt::format("\n  and {} more", count - 8);
  throw UserError(
      plan.source(),
      fmt::format("{} argument{} without a value:{}", count, count > 1 ? "s" : "", missing),
      "give them in the state or in the batches");
}

void TrainingLoop::check_batches() {
  std::optional<int64_t> available;
  for (const BatchValue& batch : run_.batches) {
    const plan::Placement& placement = executor_.plan().arguments(batch.argument).placement();
    const std::vector<int64_t> wanted = plan::dims_of(placement.global_shape());
    const std::vector<int64_t>& shape = batch.values.shape;
    const bool fits = batch.values.dtype == placement.dtype() &&
                      shape.size() == wanted.size() + 1 &&
                      std::equal(wanted.begin(), wanted.end(), shape.begin() + 1);
    if (!fits)
      throw UserError(batch.source,
                      fmt::format("is {}; a batch of {} is {}", describe(batch.values.dtype, shape),
                                  executor_.plan().arguments(batch.argument).name(),
                                  describe(placement.dtype(), wanted)),
                      "expected one more leading dimension: the batches, one per step");
    if (run_.steps >= 0 && shape[0] < run_.steps)
      throw UserError(
          batch.source,
          fmt::format("holds {} batches, but {} steps are asked for", shape[0], run_.steps),
          "give more batches or ask for fewer steps");
    available = std::min(available.value_or(shape[0]), shape[0]);
  }
  if (available == 0) {
    throw UserError(run_.batches.front().source, "holds no batches: its leading dimension is 0",
                    "give at least one batch: the leading dimension counts the steps");
  }
  if (run_.steps < 0) run_.steps = available.value_or(1);
}

void TrainingLoop::set_batches(int64_t step) {
  for (const BatchValue& batch : run_.batches) {
    TensorView slice = batch.values;
    slice.shape.erase(slice.shape.begin());
    slice.data += step * slice.num_bytes();
    executor_.set_argument(batch.argument, slice, batch.source);
  }
}

void TrainingLoop::run() {
  for (int64_t step = 0; step < run_.steps; ++step) {
    set_batches(step);
    StepReport report;
    report.step = step;
    report.timing = executor_.step();
    for (int metric : metrics_) report.metrics.push_back(executor_.result_scalar(metric));
    if (run_.on_step && !run_.on_step(report)) return;
  }
}

void TrainingLoop::write_state(const std::string& path, const std::map<int, std::string>& names) {
  const plan::Plan& plan = executor_.plan();
  std::vector<int> state;
  std::vector<SafetensorsWriter::Entry> entries;
  for (int a = 0; a < plan.arguments_size(); ++a) {
    const plan::Argument& argument = plan.arguments(a);
    if (argument.aliased_result() < 0) continue;
    state.push_back(a);
    std::string name = argument.name().empty() ? fmt::format("argument{}", a) : argument.name();
    if (const auto given = names.find(a); given != names.end()) name = given->second;
    entries.push_back({std::move(name), argument.placement().dtype(),
                       plan::dims_of(argument.placement().global_shape())});
  }
  std::optional<SafetensorsWriter> writer;
  if (executor_.communicator().rank() == 0) writer.emplace(path, entries);
  for (int argument : state) {
    const std::optional<Tensor> tensor = executor_.gather_argument(argument);
    if (writer) writer->write(tensor->view());
  }
  if (writer) writer->finish();
}

}  // namespace spmd
