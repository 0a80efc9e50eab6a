#include "launcher/ignored_settings.h"

#include <fmt/format.h>

namespace spmd {

std::vector<std::string> ignored_settings(const RunConfig& config, bool is_plan, bool has_gpu) {
  std::vector<std::string> warnings;
  const auto warn = [&](bool ignored, const char* what, const char* why, const char* remedy) {
    if (ignored) warnings.push_back(fmt::format("{} does nothing: {}\n  {}", what, why, remedy));
  };
  warn(config.cuda_graphs == "on" && !has_gpu, "--cuda-graphs on", "this run is on no GPU",
       "leave it out, or run with --device cuda where there is one");
  constexpr const char* kCompiled = "MODEL is a compiled Plan";
  constexpr const char* kCompileAgain = "leave it out, or give the program and compile it again";
  warn(is_plan && config.compile_budget, "--compile-budget", kCompiled, kCompileAgain);
  warn(is_plan && config.explain, "--explain", kCompiled, kCompileAgain);
  warn(is_plan && config.codegen == "off", "--codegen off", kCompiled, kCompileAgain);
  warn(is_plan && !config.dims.empty(), "--set-dim", kCompiled, kCompileAgain);
  warn(is_plan && !config.inputs.empty(), "--set-input", kCompiled, kCompileAgain);
  if (is_plan || config.codegen != "off") return warnings;
  constexpr const char* kOff = "with --codegen off no kernels are compiled";
  warn(config.compile_budget.has_value(), "--compile-budget", kOff, "leave out one of them");
  warn(config.explain.has_value(), "--explain", kOff, "leave out one of them");
  return warnings;
}

}  // namespace spmd
