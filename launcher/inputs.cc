#include "launcher/inputs.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "launcher/missing_state.h"
#include "launcher/random_init.h"
#include "support/error.h"
#include "support/names.h"
#include "support/strings.h"

namespace spmd {
namespace {

constexpr size_t kListed = 8;

std::string argument_text(const plan::Plan& plan, int index) {
  const plan::Placement& placement = plan.arguments(index).placement();
  return fmt::format("{} {}", plan::argument_name(plan, index),
                     describe(placement.dtype(), plan::dims_of(placement.global_shape())));
}

// A tensor may be an argument of that type and shape after `leading` dimensions of its own.
bool fits(const plan::Placement& placement, const TensorView& tensor, size_t leading) {
  const std::vector<int64_t> shape = plan::dims_of(placement.global_shape());
  return tensor.dtype == placement.dtype() && tensor.shape.size() == shape.size() + leading &&
         std::equal(shape.begin(), shape.end(),
                    tensor.shape.begin() + static_cast<ptrdiff_t>(leading));
}

// With their types, so that one sees why nothing takes them.
std::vector<std::string> with_types(std::vector<std::string> names, TensorSource& source) {
  for (std::string& name : names) {
    const TensorView view = source.get(name);
    name += " " + describe(view.dtype, view.shape);
  }
  return names;
}

std::vector<std::string> unused_tensors(const NameBinding& binding,
                                        std::vector<std::string> tensors) {
  std::vector<int> used = binding.tensors;
  std::sort(used.begin(), used.end(), std::greater<>());
  for (int tensor : used)
    if (tensor >= 0) tensors.erase(tensors.begin() + tensor);
  return tensors;
}

std::string list_lines(const std::vector<std::string>& lines) {
  std::string text;
  for (size_t i = 0; i < lines.size() && i < kListed; ++i) text += "\n    " + lines[i];
  if (lines.size() > kListed) text += fmt::format("\n    and {} more", lines.size() - kListed);
  return text;
}

}  // namespace

Inputs::Inputs(const plan::Plan& plan, const RunConfig& config, bool random_init,
               const RecordedValues* recorded, const std::vector<InitialValue>& parameters)
    : plan_(plan),
      has_parameters_(!parameters.empty()),
      bound_(static_cast<size_t>(plan.arguments_size()), false) {
  if (recorded != nullptr) bind_recorded(*recorded);
  if (config.state) bind_state(*config.state);
  bind_parameters(parameters);
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

void Inputs::bind_recorded(const RecordedValues& recorded) {
  initial_ = recorded.arguments();
  bound_.assign(bound_.size(), true);
  notes_.push_back(
      fmt::format("{}: the arguments are those that the file records", plan_.source()));
}

// What a state file gives wins.
void Inputs::bind_parameters(const std::vector<InitialValue>& parameters) {
  for (const InitialValue& parameter : parameters) {
    const auto at = static_cast<size_t>(parameter.argument);
    if (bound_[at]) continue;
    bound_[at] = true;
    initial_.push_back(parameter);
  }
}

void Inputs::bind_state(const std::string& path) {
  TensorSource& source = *sources_.emplace_back(open_tensor_source(path));
  const std::vector<std::string> tensors = source.names();
  // What no result looks like is held.
  const auto missing = missing_state(plan_);
  if (!keeps_state(plan_) && !has_parameters_ && !missing.empty()) {
    throw UserError(path, fmt::format("{} {}", plan_.source(),
                                      *describe_missing_state(plan_, missing, /*steps=*/1)));
  }
  const std::vector<int> open = takers_of_state();
  const NameBinding binding = bind(open, source, 0);
  for (size_t i = 0; i < open.size(); ++i) {
    if (binding.tensors[i] < 0) continue;
    const std::string& tensor = tensors[static_cast<size_t>(binding.tensors[i])];
    bound_[static_cast<size_t>(open[i])] = true;
    state_names_[open[i]] = tensor;
    initial_.push_back({open[i], source.get(tensor), fmt::format("{}: tensor {}", path, tensor)});
  }
  note_rivals(unused_tensors(binding, tensors), source, 0);
  unused_state_ = with_types(unused_tensors(binding, tensors), source);
  note_binding(path, binding, open, tensors);
}

void Inputs::bind_batches(const std::string& path) {
  TensorSource& source = *sources_.emplace_back(open_tensor_source(path));
  const std::vector<std::string> tensors = source.names();
  std::vector<int> open;
  for (int argument : unbound()) {
    if (plan_.arguments(argument).aliased_result() < 0) open.push_back(argument);
  }
  const NameBinding binding = bind(open, source, 1);
  for (size_t i = 0; i < open.size(); ++i) {
    if (binding.tensors[i] < 0) continue;
    const std::string& tensor = tensors[static_cast<size_t>(binding.tensors[i])];
    bound_[static_cast<size_t>(open[i])] = true;
    batches_.push_back({open[i], source.get(tensor), fmt::format("{}: tensor {}", path, tensor)});
  }
  note_rivals(unused_tensors(binding, tensors), source, 1);
  unused_batches_ = with_types(unused_tensors(binding, tensors), source);
  note_binding(path, binding, open, tensors);
}

// Where the program names nothing of its state, what is left of a state file is the state, and
// inputs without names take nothing of it.
std::vector<int> Inputs::takers_of_state() const {
  const auto is_unnamed = [&](int i) { return is_place_only(plan_.arguments(i).name()); };
  const auto is_state = [&](int i) { return plan_.arguments(i).aliased_result() >= 0; };
  std::vector<int> takers = unbound();
  const bool unnamed_state = std::any_of(takers.begin(), takers.end(),
                                         [&](int i) { return is_unnamed(i) && is_state(i); });
  if (unnamed_state) std::erase_if(takers, [&](int i) { return is_unnamed(i) && !is_state(i); });
  return takers;
}

// `leading`: dimensions that tensors have before those of the arguments.
NameBinding Inputs::bind(const std::vector<int>& arguments, TensorSource& source,
                         size_t leading) const {
  const std::vector<std::string> tensors = source.names();
  std::vector<std::string> names;
  for (int argument : arguments) names.push_back(plan_.arguments(argument).name());
  return bind_names(names, tensors, source.path(), [&](size_t argument, size_t tensor) {
    const plan::Placement& placement = plan_.arguments(arguments[argument]).placement();
    return fits(placement, source.get(tensors[tensor]), leading);
  });
}

void Inputs::note_binding(const std::string& path, const NameBinding& binding,
                          const std::vector<int>& arguments,
                          const std::vector<std::string>& tensors) {
  const std::vector<std::string> unused = unused_tensors(binding, tensors);
  if (!unused.empty()) {
    notes_.push_back(fmt::format("{}: {} tensor{} that no argument takes: {}", path, unused.size(),
                                 unused.size() == 1 ? "" : "s", fmt::join(unused, ", ")));
  }
  if (binding.guessed.size() < 2) return;  // one tensor for one argument is no guess
  std::vector<std::string> pairs;
  for (int i : binding.guessed) {
    const auto at = static_cast<size_t>(i);
    pairs.push_back(fmt::format("{} is {}", tensors[static_cast<size_t>(binding.tensors[at])],
                                plan::argument_name(plan_, arguments[at])));
  }
  notes_.push_back(
      fmt::format("{}: bound by position, as the program does not name them: {}; text exported "
                  "with as_text(debug_info=True) has names",
                  path, fmt::join(pairs, ", ")));
}

// Tensors that an argument without a name did not take as others were as good.
void Inputs::note_rivals(const std::vector<std::string>& unused, TensorSource& source,
                         size_t leading) {
  for (int argument : unbound()) {
    if (!is_place_only(plan_.arguments(argument).name())) continue;
    for (const std::string& tensor : unused)
      if (fits(plan_.arguments(argument).placement(), source.get(tensor), leading))
        rivals_[argument].push_back(tensor);
  }
}

void Inputs::draw_missing() {
  std::vector<std::string> zeros;
  for (int index : unbound()) {
    InitialValue drawn{index, {}, "--init random"};
    drawn.draw = draw_of(plan_, index);
    if (lacks_bound(plan_.arguments(index))) zeros.push_back(argument_text(plan_, index));
    initial_.push_back(std::move(drawn));
    bound_[static_cast<size_t>(index)] = true;
  }
  if (zeros.empty()) return;
  notes_.push_back(
      fmt::format("--init random: zeros for {} integer argument{} whose use implies no bound:{}",
                  zeros.size(), zeros.size() == 1 ? "" : "s", list_lines(zeros)));
}

// State that is missing is the state file's fault, other arguments are the batch file's.
void Inputs::check_complete(const RunConfig& config) const {
  std::vector<int> state, others;
  for (int index : unbound()) {
    (plan_.arguments(index).aliased_result() >= 0 ? state : others).push_back(index);
  }
  if (!state.empty()) report_missing(state, "--state", config.state, unused_state_);
  if (!others.empty()) report_missing(others, "--batches", config.batches, unused_batches_);
}

void Inputs::report_missing(const std::vector<int>& arguments, const char* flag,
                            const std::optional<std::string>& file,
                            const std::vector<std::string>& unused) const {
  std::vector<std::string> missing;
  size_t ambiguous = 0;
  for (int index : arguments) {
    missing.push_back(argument_text(plan_, index));
    const auto rivals = rivals_.find(index);
    if (!file || rivals == rivals_.end()) continue;
    ++ambiguous;
    missing.back() += fmt::format(", which {} fit{}", fmt::join(rivals->second, " and "),
                                  rivals->second.size() == 1 ? "s" : "");
  }
  const char* lack = !file                           ? "no file for"
                     : ambiguous == arguments.size() ? "does not say which tensor is for"
                                                     : "lacks a tensor for";
  std::string fact =
      fmt::format("{} {} argument{} of {}:{}", lack, missing.size(), missing.size() == 1 ? "" : "s",
                  plan_.source(), list_lines(missing));
  if (file && !unused.empty())
    fact += "\n  tensors of the file that no argument takes:" + list_lines(unused);
  std::string remedy = file ? fmt::format("give a file that has them to {}", flag)
                            : fmt::format("pass {} FILE", flag);
  const std::string& name = plan_.arguments(arguments[0]).name();
  if (file && !unused.empty() && !is_place_only(name))
    remedy =
        fmt::format("name the tensors as the program does, for example {}", path_of(name, "."));
  if (ambiguous > 0)
    remedy =
        "leave the tensors that the program does not take out of the file, or export the "
        "program with its names: as_text(debug_info=True)";
  remedy += ", or draw them: --init random";
  if (plan_.arguments(arguments[0]).aliased_result() < 0) remedy += remedy_for_inputs();
  throw UserError(file.value_or(flag), fact, remedy);
}

// What arguments can be that no result replaces.
std::string Inputs::remedy_for_inputs() const {
  std::string remedy =
      "\n  --batches has a slice of each for every step, and --state what is the same in all";
  std::vector<int> advancing;
  for (const BatchValue& batch : batches_) advancing.push_back(batch.argument);
  const auto pairs = missing_state(plan_, advancing);
  if (const auto text = describe_missing_state(plan_, pairs, /*steps=*/1))
    remedy += fmt::format("\n  the program {}", *text);
  return remedy;
}

int64_t Inputs::batch_size() const {
  for (const BatchValue& batch : batches_) {
    if (batch.values.shape.size() > 1) return batch.values.shape[1];
  }
  return 0;
}

}  // namespace spmd
