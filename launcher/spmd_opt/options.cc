#include "launcher/spmd_opt/options.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdlib>

#include "launcher/exit_codes.h"
#include "launcher/unknown_option.h"
#include "support/printable.h"

namespace spmd {
namespace {

CLI::Validator form_to_emit() {
  return CLI::Validator(
      [](const std::string& text) {
        if (text == "text" || text == "proto") return std::string();
        return fmt::format("found \"{}\", expected text or proto", text);
      },
      "");
}

CLI::Validator difference() {
  return CLI::Validator(
      [](const std::string& text) {
        double value = 0;
        const char* last = text.data() + text.size();
        const auto [end, error] = std::from_chars(text.data(), last, value);
        if (error == std::errc() && end == last && value >= 0) return std::string();
        return fmt::format("found \"{}\", expected a number of at least 0, for example 1e-5", text);
      },
      "");
}

// What is wrong with a command line that has words left over.
std::string left_over(const CLI::App& app) {
  const CLI::App* command = &app;
  for (const CLI::App* sub : app.get_subcommands()) command = sub;
  const std::vector<std::string> words = app.remaining(true);
  for (const std::string& word : words)
    if (word.starts_with('-')) return unknown_option(word, *command);
  return words.empty() ? "unexpected arguments" : "unexpected argument " + words[0];
}

// A mistake as other errors are said, or what --help asks for; returns the exit code.
int report(const CLI::App& app, const CLI::ParseError& error) {
  if (error.get_exit_code() == 0) return app.exit(error);
  const bool is_left_over = dynamic_cast<const CLI::ExtrasError*>(&error) != nullptr;
  const std::string text = is_left_over ? left_over(app) : error.what();
  fmt::print(stderr, "spmd-opt: {}\n  see spmd-opt --help\n", printable(text));
  return kUsageError;
}

void describe(CLI::App& app, OptOptions& options) {
  app.add_option("file", options.input, "program: StableHLO text, HloModuleProto or module file");
  app.add_option("--pass", options.passes, "passes to run, in this order (a,b,c)")->delimiter(',');
  app.add_flag("--pipeline", options.pipeline, "run the compiler's own list of passes");
  app.add_option("--stop-after", options.run.stop_after, "last pass to run");
  app.add_option("--skip", options.run.skip, "passes not to run (a,b,c)")->delimiter(',');
  app.add_option("--mesh", options.mesh, "sizes of the mesh axes: data=2,model=4");
  app.add_option("--set-dim", options.dims,
                 "size of a dimension that the program leaves open: batch=8")
      ->allow_extra_args(false);
  app.add_option("--set-input", options.inputs,
                 "value of an ONNX model's input that decides shapes: shape=[2,3]")
      ->allow_extra_args(false);
  app.add_flag("--print", options.print, "print the result (the default without -o)");
  app.add_flag("--print-locations", options.print_locations, "print where each op came from");
  app.add_flag("--elide-constants", options.elide_constants, "shorten large constants in print");
  app.add_option_function<std::string>(
         "--emit",
         [&](const std::string& form) {
           options.emit = form == "proto" ? Emit::kProto : Emit::kText;
         },
         "what to write")
      ->check(form_to_emit())
      ->option_text("text|proto");
  app.add_option("-o,--output", options.output, "file to write");
  app.add_option("--dump-dir", options.run.dump_dir, "folder for the module after every pass");
  app.add_flag("--check", options.check,
               "evaluate before and after on random inputs and print the largest difference");
  app.add_flag(
      "--evaluate", options.evaluate,
      "evaluate main, which may take no arguments, print its results, and fail when one of "
      "its checks (check.expect_*) does");
  app.add_option("--tolerance", options.tolerance, "largest difference that --check accepts")
      ->check(difference());
  app.add_option("--seed", options.seed, "seed of the random inputs");
  app.add_flag("--check-changed", options.run.check_changed,
               "fail when a pass misreports whether it changed the module");
  app.add_flag("--verify-each,!--no-verify-each", options.verify_each,
               "verify the module after every pass (on unless switched off)");
  app.add_flag("--time-passes", options.time_passes, "print the time that each pass took");
  app.add_flag("--list-passes", options.list_passes, "list the passes and stop");
}

CLI::App* describe_reduce(CLI::App& app, ReduceOptions& options) {
  CLI::App* reduce =
      app.add_subcommand("reduce", "shrink a program that fails to one that fails alike");
  reduce->add_option("file", options.input, "program, in any format that spmd-run reads")
      ->required();
  reduce->add_option("--mesh", options.mesh, "sizes of the mesh axes: data=2,model=4");
  reduce->add_option("--config", options.config, "YAML file with a mesh and sharding rules");
  reduce->add_option("--seed", options.seed, "seed of the random inputs");
  reduce
      ->add_option("--tolerance", options.tolerance,
                   "largest difference that is none (what rounding explains unless given)")
      ->check(difference());
  reduce->add_option("--timeout", options.seconds, "seconds after which a check counts as hanging")
      ->check(CLI::PositiveNumber);
  reduce->add_option("-o,--output", options.output, "file to write");
  reduce->footer(
      "Compiles the program, evaluates it after every pass, and runs it on threads, in a process\n"
      "of its own. Whatever fails first - a crash, a hang, an error, another result - must fail\n"
      "alike in what is left, which is printed as StableHLO text.");
  return reduce;
}

}  // namespace

OptOptions parse_options(int argc, char** argv) {
  OptOptions options;
  CLI::App app("spmd-opt: read a program, run passes on it, and print what came out");
  describe(app, options);
  ReduceOptions reduce_options;
  const CLI::App* reduce = describe_reduce(app, reduce_options);
  try {
    app.parse(argc, argv);
    if (reduce->parsed()) {
      options.reduce = reduce_options;
      return options;
    }
    if (!options.list_passes && options.input.empty())
      throw CLI::ValidationError("no program given: expected a file");
    if (options.pipeline && !options.passes.empty()) {
      throw CLI::ValidationError("--pass", "cannot be combined with --pipeline");
    }
  } catch (const CLI::ParseError& error) {
    std::exit(report(app, error));
  }
  return options;
}

}  // namespace spmd
