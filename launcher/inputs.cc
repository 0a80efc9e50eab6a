#include "launcher/inputs.h"

#include <fmt/ranges.h>

#include "runtime/binding.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

constexpr size_t kListed = 8;

std::string argument_text(const plan::Plan& plan, int index) {
  const plan::Argument& argument = plan.arguments(index);
  const plan::Placement& placement = argument.placement();
  return fmt::format("{} {}",
                     argument.name().empty() ? fmt::format("argument {}", index) : argument.name(),
                     describe(placement.dtype(), plan::dims_of(placement.global_shape())));
}

std::string list_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size() && i < kListed; ++i) text += "\n    " + lines[i];
  if (lines.size() > kListed) text += fmt::format("\n    and {} more", lines.size() - kListed);
  return text;
}

}  // namespace

Inputs::Inputs(const plan::Plan& plan, const RunConfig& config, bool random_init)
    : plan_(plan), bound_(static_cast<size_t>(plan.arguments_size()), false) {
  if (config.state) bind_state(*config.state);
  if (config.batches) bind_batches(*config.batches);
  if (random_init) draw_missing();
  check_complete(config);
}

std::vector<int> Inputs::unbound() const {
  std::vector<int> arguments;
  for (int i = 0; i < plan_.arguments_size(); ++i) {
    if (!bound_[static_cast<size_t>(i)]) arguments.push_back(i);
  }
  return arguments;
}

void Inputs::bind_state(const std::string& path) {
  TensorSource& source = *sources_.emplace_back(open_tensor_source(path));
  const std::vector<std::string> tensors = source.names();
  std::vector<std::string> names;
  bool keeps_state = false;
  for (const plan::Argument& argument : plan_.arguments()) {
    names.push_back(argument.name());
    keeps_state = keeps_state || argument.aliased_result() >= 0;
  }
  if (!keeps_state) {
    throw UserError(
        path, fmt::format("{} keeps no state: no result replaces an argument", plan_.source()),
        "export the step with its state donated (jax.jit(step, donate_argnums=0)), "
        "and return the new state");
  }
  const std::vector<int> binding = bind_names(names, tensors, path);
  std::vector<bool> used(tensors.size(), false);
  for (size_t i = 0; i < binding.size(); ++i) {
    if (binding[i] < 0) continue;
    const std::string& tensor = tensors[static_cast<size_t>(binding[i])];
    used[static_cast<size_t>(binding[i])] = bound_[i] = true;
    state_names_[static_cast<int>(i)] = tensor;
    initial_.push_back(
        {static_cast<int>(i), source.get(tensor), fmt::format("{}: tensor {}", path, tensor)});
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (!used[i]) unused_state_.push_back(tensors[i]);
  }
  if (!unused_state_.empty()) {
    notes_.push_back(fmt::format("{}: {} tensors that no argument takes: {}", path,
                                 unused_state_.size(), fmt::join(unused_state_, ", ")));
  }
}

void Inputs::bind_batches(const std::string& path) {
  TensorSource& source = *sources_.emplace_back(open_tensor_source(path));
  const std::vector<std::string> tensors = source.names();
  std::vector<int> open;
  std::vector<std::string> names;
  for (int argument : unbound()) {
    if (plan_.arguments(argument).aliased_result() >= 0) continue;
    open.push_back(argument);
    names.push_back(plan_.arguments(argument).name());
  }
  const std::vector<int> binding = bind_names(names, tensors, path);
  std::string by_position;
  for (size_t i = 0; i < binding.size(); ++i) {
    if (binding[i] < 0) continue;
    const std::string& tensor = tensors[static_cast<size_t>(binding[i])];
    bound_[static_cast<size_t>(open[i])] = true;
    if (names[i].empty()) {
      by_position +=
          fmt::format("{}{} is argument {}", by_position.empty() ? "" : ", ", tensor, open[i]);
    }
    batches_.push_back({open[i], source.get(tensor), fmt::format("{}: tensor {}", path, tensor)});
  }
  if (batches_.size() > 1 && !by_position.empty()) {
    notes_.push_back(
        fmt::format("{}: bound by position, as the program names no inputs: {}; text "
                    "exported with as_text(debug_info=True) has names",
                    path, by_position));
  }
}

void Inputs::draw_missing() {
  for (int index : unbound()) {
    const plan::Argument& argument = plan_.arguments(index);
    drawn_.push_back(draw_tensor(argument.name(), argument.placement()));
    initial_.push_back({index, drawn_.back().view(), "--init random"});
    bound_[static_cast<size_t>(index)] = true;
  }
}

// State that is missing is the state file's fault, other arguments are the batch file's.
void Inputs::check_complete(const RunConfig& config) const {
  std::vector<std::string> state, others;
  for (int index : unbound()) {
    const bool aliased = plan_.arguments(index).aliased_result() >= 0;
    (aliased ? state : others).push_back(argument_text(plan_, index));
  }
  const bool lacks_state = !state.empty();
  if (!lacks_state && others.empty()) return;
  const std::vector<std::string>& missing = lacks_state ? state : others;
  const auto& file = lacks_state ? config.state : config.batches;
  const char* flag = lacks_state ? "--state" : "--batches";
  std::string fact = fmt::format(
      "{} {} argument{} of {}:{}", file ? "lacks a tensor for" : "no file for", missing.size(),
      missing.size() == 1 ? "" : "s", plan_.source(), list_lines(missing));
  if (file && lacks_state && !unused_state_.empty()) {
    fact += "\n  tensors of the file that no argument takes:" + list_lines(unused_state_);
  }
  throw UserError(
      file.value_or(flag), fact,
      file ? fmt::format("give a file that has them to {}, or draw them: --init random", flag)
           : fmt::format("pass {} FILE, or draw them: --init random", flag));
}

int64_t Inputs::batch_size() const {
  for (const BatchValue& batch : batches_) {
    if (batch.values.shape.size() > 1) return batch.values.shape[1];
  }
  return 0;
}

}  // namespace spmd
