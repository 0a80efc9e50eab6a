#include "launcher/missing_state.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/plan/dtype.h"
#include "runtime/tensor.h"
#include "support/check_results.h"
#include "support/names.h"

namespace spmd {
namespace {

constexpr const char* kDonate =
    "export the step with its whole state donated and returned: jax.jit(step, donate_argnums=0)";

// ONNX has no way to say that an output replaces an input.
constexpr const char* kExportOtherwise =
    "export the training step in another format, as StableHLO, with its state donated: an ONNX "
    "graph is only applied to its inputs";

const char* way_to_train(const plan::Plan& plan) {
  return plan.source().ends_with(".onnx") ? kExportOtherwise : kDonate;
}

bool is_same_type(const plan::Placement& a, const plan::Placement& b) {
  return a.dtype() == b.dtype() && std::equal(a.global_shape().begin(), a.global_shape().end(),
                                              b.global_shape().begin(), b.global_shape().end());
}

using NameWords = std::vector<std::string>;

// None of a name that tells its place only. Places in tuples are no words of results.
NameWords own_words(const std::string& name) {
  return is_place_only(name) ? NameWords() : words_of(path_of(name, " "));
}

// How many words two names end with alike.
size_t common_ending(const NameWords& a, const NameWords& b) {
  const auto ends = std::mismatch(a.rbegin(), a.rend(), b.rbegin(), b.rend());
  return static_cast<size_t>(ends.first - a.rbegin());
}

class StateMatcher {
 public:
  StateMatcher(const plan::Plan& plan, const std::vector<int>& advancing) : plan_(plan) {
    std::vector<bool> replaces(static_cast<size_t>(plan.results_size()), false);
    for (int a = 0; a < plan.arguments_size(); ++a) {
      const int result = plan.arguments(a).aliased_result();
      if (result >= 0) replaces[static_cast<size_t>(result)] = true;
      if (result < 0 && std::find(advancing.begin(), advancing.end(), a) == advancing.end())
        arguments_.push_back(a);
    }
    for (int r = 0; r < plan.results_size(); ++r)
      if (!replaces[static_cast<size_t>(r)] && !is_check_result(plan.results(r).name()))
        results_.push_back(r);
    for (const plan::Argument& argument : plan.arguments())
      argument_words_.push_back(own_words(argument.name()));
    for (const plan::Result& result : plan.results())
      result_words_.push_back(own_words(result.name()));
  }

  std::vector<StatePair> run() {
    pair([&](size_t argument, size_t result) {
      return common_ending(argument_words_[argument], result_words_[result]);
    });
    // Without names, a type that only happens to be the same says less where some state is known.
    if (keeps_state(plan_)) return found_;
    pair([&](size_t argument, size_t result) -> size_t {
      const plan::Placement& placement = plan_.arguments(static_cast<int>(argument)).placement();
      const bool has_names = !argument_words_[argument].empty() && !result_words_[result].empty();
      return !has_names && placement.global_shape_size() > 0;
    });
    std::sort(found_.begin(), found_.end(),
              [](const StatePair& a, const StatePair& b) { return a.argument < b.argument; });
    return found_;
  }

 private:
  // Gives each argument the result of its type with the best grade above 0, the first of several.
  template <typename Grade>
  void pair(Grade grade) {
    std::erase_if(arguments_, [&](int a) {
      size_t best_grade = 0;
      auto best = results_.end();
      for (auto r = results_.begin(); r != results_.end(); ++r) {
        if (!is_same_type(plan_.arguments(a).placement(), plan_.results(*r).placement())) continue;
        const size_t found = grade(static_cast<size_t>(a), static_cast<size_t>(*r));
        if (found <= best_grade) continue;
        best_grade = found;
        best = r;
      }
      if (best == results_.end()) return false;
      found_.push_back({a, *best});
      results_.erase(best);
      return true;
    });
  }

  const plan::Plan& plan_;
  std::vector<int> arguments_, results_;  // that are free
  std::vector<NameWords> argument_words_, result_words_;
  std::vector<StatePair> found_;
};

}  // namespace

bool keeps_state(const plan::Plan& plan) {
  return std::any_of(plan.arguments().begin(), plan.arguments().end(),
                     [](const plan::Argument& a) { return a.aliased_result() >= 0; });
}

std::vector<StatePair> missing_state(const plan::Plan& plan, const std::vector<int>& advancing) {
  return StateMatcher(plan, advancing).run();
}

std::optional<std::string> describe_missing_state(const plan::Plan& plan,
                                                  const std::vector<StatePair>& missing,
                                                  int64_t steps) {
  const bool some = keeps_state(plan);
  if (missing.empty() && (some || steps < 2)) return std::nullopt;
  std::string text =
      some ? ""
           : "keeps no state: no result replaces an argument, so that every step begins with the "
             "same values";
  if (!missing.empty()) {
    const StatePair& first = missing[0];
    const plan::Placement& placement = plan.arguments(first.argument).placement();
    const std::string& result = plan.results(first.result).name();
    text += fmt::format(
        "{}{} argument{} may be state that no result replaces: {} {} is one, of which {} may be "
        "the "
        "next value",
        some ? "" : "\n  ", missing.size(), missing.size() == 1 ? "" : "s",
        plan::argument_name(plan, first.argument),
        describe(placement.dtype(), plan::dims_of(placement.global_shape())),
        result.empty() ? fmt::format("result {}", first.result) : result);
  }
  return text + (missing.empty() ? "\n  if it is to train: " : "\n  ") + way_to_train(plan);
}

}  // namespace spmd
