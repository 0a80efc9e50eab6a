#include "runtime/training_loop.h"

#include <algorithm>
#include <set>

#include "runtime/io/safetensors.h"
#include "support/check_results.h"
#include "support/error.h"

namespace spmd {

namespace {

std::string remedy_for_batch(const TensorView& values, plan::DType dtype,
                             const std::vector<int64_t>& wanted) {
  if (values.dtype != dtype) return remedy_for_type(dtype);
  if (values.shape == wanted)
    return "expected one more leading dimension, which counts the steps: for one step write "
           "tensor[None]";
  return "expected one more leading dimension: the batches, one per step; cut the data into "
         "batches "
         "of that\n  shape, which the program was exported for, or export it for another";
}

}  // namespace

TrainingLoop::TrainingLoop(Executor& executor) : executor_(executor) {
  const plan::Plan& plan = executor.plan();
  std::set<int> aliased;
  for (const plan::Argument& argument : plan.arguments()) aliased.insert(argument.aliased_result());
  for (int r = 0; r < plan.results_size(); ++r) {
    if (aliased.count(r) || plan::element_count(plan.results(r).placement().global_shape()) != 1)
      continue;
    (is_check_result(plan.results(r).name()) ? checks_ : metrics_).push_back(r);
  }
}

void TrainingLoop::prepare(TrainingRun run) {
  run_ = std::move(run);
  check_all_bound();
  check_batches();
  for (const InitialValue& initial : run_.initial) {
    if (initial.draw)
      executor_.draw_argument(initial.argument, *initial.draw);
    else
      executor_.set_argument(initial.argument, initial.value, initial.source);
  }
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
      missing += fmt::format("\n  {} {}", plan::argument_name(plan, a),
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
  for (const BatchValue& batch : run_.batches) check_batch(batch);
  if (run_.steps >= 0) return;
  run_.steps = 1;
  if (run_.batches.empty()) return;
  const auto count = [](const BatchValue& batch) { return batch.values.shape[0]; };
  const auto [fewest, most] = std::minmax_element(
      run_.batches.begin(), run_.batches.end(),
      [&](const BatchValue& a, const BatchValue& b) { return count(a) < count(b); });
  if (count(*fewest) < count(*most))
    throw UserError(fewest->source,
                    fmt::format("holds {} batches, and {} holds {}", count(*fewest), most->source,
                                count(*most)),
                    fmt::format("give as many of each, or say how many steps to run: --steps {}",
                                count(*fewest)));
  run_.steps = count(*fewest);
}

void TrainingLoop::check_batch(const BatchValue& batch) const {
  const plan::Argument& argument = executor_.plan().arguments(batch.argument);
  const std::vector<int64_t> wanted = plan::dims_of(argument.placement().global_shape());
  const std::vector<int64_t>& shape = batch.values.shape;
  const bool fits = batch.values.dtype == argument.placement().dtype() &&
                    shape.size() == wanted.size() + 1 &&
                    std::equal(wanted.begin(), wanted.end(), shape.begin() + 1);
  if (!fits)
    throw UserError(batch.source,
                    fmt::format("is {}; a batch of {} is {}", describe(batch.values.dtype, shape),
                                plan::argument_name(executor_.plan(), batch.argument),
                                describe(argument.placement().dtype(), wanted)),
                    remedy_for_batch(batch.values, argument.placement().dtype(), wanted));
  if (shape[0] == 0)
    throw UserError(batch.source, "holds no batches: its leading dimension is 0",
                    "give at least one batch: the leading dimension counts the steps");
  if (run_.steps >= 0 && shape[0] < run_.steps)
    throw UserError(
        batch.source,
        fmt::format("holds {} batches, but {} steps are asked for", shape[0], run_.steps),
        fmt::format("give more batches, or ask for fewer steps: --steps {}", shape[0]));
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
