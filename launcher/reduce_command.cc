#include "launcher/reduce_command.h"

#include <chrono>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "ir/text.h"
#include "launcher/agreement.h"
#include "launcher/choose_mesh.h"
#include "launcher/command_line.h"
#include "launcher/compile_program.h"
#include "launcher/failing_program.h"
#include "launcher/output_file.h"
#include "support/error.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {
namespace {

bool writes_file(const ReduceOptions& options) {
  return !options.output.empty() && options.output != "-";
}

size_t number_of_ops(const Module& module) {
  size_t count = 0;
  for (const auto& fn : module.functions()) count += fn->num_live_ops();
  return count;
}

Module read_program(const ReduceOptions& options) {
  Module module;
  CommandLine line;
  line.mesh = options.mesh;
  line.config = options.config;
  RunConfig config;
  alone(kUsageError, [&] { config = resolve_config(line); });
  alone(kFileError, [&] {
    const std::string bytes = read_file(options.input);
    if (is_plan(bytes)) {
      throw UserError(options.input, "is a compiled Plan, of which nothing can be taken away",
                      "give the program that it was compiled from");
    }
    module = import_bytes(bytes, options.input);
    if (writes_file(options)) check_writable(options.output);
  });
  alone(kUsageError,
        [&] { place_program(module, choose_mesh_for_check(module, config.mesh, 0), config); });
  return module;
}

// How the program fails. Without running anything first: what fails then is checked faster.
std::optional<ProgramFailure> find_failure(const Module& module, const ReduceOptions& options,
                                           StageOptions& stages) {
  stages.seed = options.seed;
  stages.tolerance = options.tolerance;
  for (bool evaluate : {false, true}) {
    stages.evaluate = evaluate;
    if (auto failure = check_isolated(module, stages, options.seconds)) return failure;
  }
  return std::nullopt;
}

[[noreturn]] void nothing_fails(const ReduceOptions& options) {
  throw Failed(kFileError,
               fmt::format("{}: nothing fails: it compiles, and every stage computes the same on "
                           "the random inputs of seed {}\n  give the --mesh and --config that it "
                           "fails with, another --seed, or a smaller --tolerance",
                           options.input, options.seed));
}

std::string commented(const std::string& text) {
  std::string lines = "// ";
  for (char c : printable(text)) {
    lines += c;
    if (c == '\n') lines += "// ";
  }
  return lines + "\n";
}

std::string text_of(const Module& module, const ReduceOptions& options,
                    const ProgramFailure& failure) {
  return commented("reduced from " + options.input) +
         commented("fails at " + failure.failure.to_string()) + print_stablehlo(module);
}

void say(const std::string& line) {
  fmt::print(stderr, "{}\n", printable(line));
  std::fflush(stderr);
}

}  // namespace

int run_reduce(const ReduceOptions& options) {
  Module module = read_program(options);
  StageOptions stages;
  const std::optional<ProgramFailure> failure = find_failure(module, options, stages);
  if (!failure) nothing_fails(options);
  say(fmt::format("{} ops; fails at {}",
                  with_thousands(static_cast<long long>(number_of_ops(module))),
                  failure->failure.to_string()));
  size_t reported = number_of_ops(module);
  ShrinkOptions shrinking;
  shrinking.progress = [&](const Module& smaller) {
    const size_t ops = number_of_ops(smaller);
    if (ops * 10 > reported * 9) return;
    reported = ops;
    say(fmt::format("{} ops", with_thousands(static_cast<long long>(ops))));
    // Whoever stops this keeps what there is.
    if (writes_file(options)) write_whole_file(options.output, text_of(smaller, options, *failure));
  };
  alone(kFileError, [&] {
    module = reduce_program(std::move(module), *failure, stages, options.seconds, shrinking);
    const auto last = check_isolated(module, stages, options.seconds);
    const std::string text = text_of(module, options, last ? *last : *failure);
    if (writes_file(options)) {
      write_whole_file(options.output, text);
    } else {
      std::fwrite(text.data(), 1, text.size(), stdout);
    }
  });
  say(fmt::format("{} ops are left", number_of_ops(module)));
  return kOk;
}

}  // namespace spmd
