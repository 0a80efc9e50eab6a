#include "launcher/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>

#include "launcher/exit_codes.h"
#include "launcher/settings.h"
#include "launcher/unknown_option.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

// Each fits a screen of 24 lines by 80 characters.
constexpr const char* kHelp =
    R"(usage: [mpirun -n N] spmd-run MODEL [options]    train an exported program
       spmd-run check MODEL [--json] [options]   what a mesh costs; no devices
       spmd-run cache ls|clear [--cache-dir DIR] what is kept between runs

MODEL is StableHLO (text, bytecode), HLO (proto, text), ONNX or a saved Plan.

  --state FILE        initial state (safetensors, npy); --init random: the rest
  --batches FILE      one batch a step (safetensors, npy)
  --steps N           steps to run; all batches by default
  --out FILE          final state (safetensors)
  --report DIR        report.json, report.txt, metrics.jsonl; --verbose: tables
  --check FILE        compare metrics and final state with a safetensors file
  --tolerances FILE   JSON: how far --check lets them differ
  --mesh AXES         sizes of the mesh axes: data=2,model=4; one may be -1
  --ranks N           ranks as threads of this process, without mpirun
  --config FILE       YAML: mesh, sharding rules and the options above
  --set KEY=VALUE     override a key of the config: --set train.steps=10
  --set-dim NAME=SIZE, --set-input NAME=VALUE   what the program leaves open
  --save-plan FILE    write the compiled Plan, to be run as MODEL
  --device KIND       cpu, cuda or auto; --threads N: of a rank on CPUs
  --cache-dir DIR     where compiled kernels are kept; --codegen off: none
  --watchdog SECONDS  how long a step waits for a rank (20; threads on CPU 600)
  --compile-budget S  seconds for compiling; --cuda-graphs auto, on or off
  --print-config      print it and stop; --explain fusion: what was fused
)";

constexpr const char* kCheckHelp = R"(usage: spmd-run check MODEL [options]

Says what a program needs on a mesh of any size, without devices and MPI: ops,
shardings, collectives with their bytes, memory per rank, predicted time.

  --mesh AXES         sizes of the mesh axes: data=2,model=4
  --config FILE       YAML: mesh and sharding rules
  --set KEY=VALUE     override a key of the config
  --set-dim NAME=SIZE       size of a dimension that the program leaves open
  --set-input NAME=VALUE    value of an input that decides shapes: shape=[2,3]
  --ranks N           number of ranks, for an axis of size -1
  --json              print JSON
  --print-config      print the configuration in force and stop
  --verbose           the compiler's passes and remarks, full tables
)";

CLI::Validator number_of_ranks(int64_t most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        if (whole && value >= 1 && value <= most) return "";
        return fmt::format(
            "found \"{}\", expected a number of ranks of at least 1{}\n  for example: --ranks 4",
            text, whole && value > 1 ? fmt::format(" and at most {}", most) : "");
      },
      "");
}

// Ranks as threads know each other: memory grows with the square of their number.
constexpr int64_t kMostThreads = 4096;
constexpr int64_t kMostRanks = int64_t{1} << 24;

void add_shared(CLI::App& app, CommandLine& line, int64_t most_ranks) {
  // Said twice, the last one holds, so that scripts can add to a command line.
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.set_help_flag();
  app.add_flag("-h,--help");
  app.add_option("MODEL", line.model);
  app.add_option("--config", line.config);
  app.add_option("--set", line.settings)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  app.add_option("--mesh", line.mesh);
  app.add_option("--ranks", line.ranks)->check(number_of_ranks(most_ranks));
  app.add_flag("--verbose", line.verbose);
  app.add_flag("--print-config", line.print_config);
}

// A value that is none ends parsing with what set_value() says of it.
void add_setting(CLI::App& app, const Setting& setting, RunConfig& flags) {
  const std::string flag(setting.flag);
  const auto set = [&setting, &flags, flag](const std::string& text) {
    const auto fault = set_value(setting, text, flag + " ", flags);
    if (fault) throw CLI::ValidationError(flag, fault->fact + "\n  " + fault->remedy);
  };
  const bool is_list = std::holds_alternative<ListField>(setting.field);
  if (!is_list) {
    app.add_option_function<std::string>(flag, set);
    return;
  }
  app.add_option_function<std::vector<std::string>>(flag,
                                                    [set](const std::vector<std::string>& texts) {
                                                      for (const auto& text : texts) set(text);
                                                    })
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

// `others`: commands that options may belong to.
std::string misplaced_option(const std::string& word, const CLI::App& app,
                             const std::vector<const CLI::App*>& others) {
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::App* other : others) {
    const std::vector<std::string> known = option_names(*other);
    if (other == &app || std::find(known.begin(), known.end(), name) == known.end()) continue;
    const auto command = [](const CLI::App& of) {
      return of.get_parent() ? "spmd-run " + of.get_name() : std::string("a run");
    };
    return fmt::format("{} is no option of {}\n  it is one of {}", name, command(app),
                       command(*other));
  }
  return unknown_option(word, app);
}

// The command that is probably meant where a program is expected.
std::optional<std::string> nearest_command(const std::string& word) {
  if (word.find_first_of("./") != std::string::npos) return std::nullopt;
  return nearest(word, {"check", "cache"});
}

std::string unknown_command(const std::string& word, const std::string& near) {
  return fmt::format("unknown command {}\n  did you mean spmd-run {}?", word, near);
}

// Whether a word that stands before other words is meant as a command: no file has that name.
bool is_like_command(const std::string& word) {
  return word.find_first_of("./") == std::string::npos && !std::filesystem::exists(word);
}

// What is left over of a command line.
std::string unknown_arguments(const CLI::App& app, const std::vector<const CLI::App*>& others,
                              const std::string& model) {
  for (const std::string& word : app.remaining(true))
    if (word.rfind('-', 0) == 0) return misplaced_option(word, app, others);
  const auto near = nearest_command(model);
  if (app.get_parent() == nullptr && near) return unknown_command(model, *near);
  if (app.get_parent() == nullptr && is_like_command(model))
    return fmt::format(
        "unknown command {}\n  spmd-run MODEL trains; the commands are spmd-run check and cache",
        model);
  return fmt::format("unexpected argument {}", app.remaining(true).front());
}

std::map<std::string, std::string> given_options(const CLI::App& app) {
  std::map<std::string, std::string> given;
  for (const CLI::Option* option : app.get_options())
    if (option->count() > 0)
      given[option->get_name()] = fmt::format("{}", fmt::join(option->reduced_results(), " "));
  return given;
}

}  // namespace

ParsedCommandLine parse_command_line(int argc, const char* const* argv) {
  ParsedCommandLine parsed;
  CommandLine& line = parsed.line;
  CLI::App app("", "spmd-run");
  app.allow_extras();
  add_shared(app, line, kMostThreads);
  app.add_flag("--version");
  CLI::App& check = *app.add_subcommand("check");
  check.allow_extras();
  add_shared(check, line, kMostRanks);
  check.add_flag("--json", line.json);
  for (const Setting& setting : settings()) {
    if (!setting.flag.empty()) add_setting(app, setting, line.flags);
    if (setting.of_check) add_setting(check, setting, line.flags);
  }
  CLI::App& cache = *app.add_subcommand("cache");
  std::string action;
  cache.allow_extras();
  cache.set_help_flag();
  cache.add_flag("-h,--help");
  cache.add_option("ACTION", action);
  cache.add_option("--cache-dir", line.flags.cache_dir);

  const auto stop = [&](int exit_code, std::string text) {
    parsed.stop = true;
    parsed.exit_code = exit_code;
    parsed.text = std::move(text);
    return parsed;
  };
  const auto mistake = [&](const std::string& what) {
    return stop(kUsageError, what + "\n  see spmd-run --help");
  };
  try {
    app.parse(argc, argv);
  } catch (const CLI::ArgumentMismatch& error) {
    const std::string text = error.what();
    return mistake(text.substr(0, text.find(':')) + ": expected one value after it");
  } catch (const CLI::ParseError& error) {
    return mistake(error.what());
  }
  parsed.given = given_options(app);
  const bool checks = check.parsed();
  if (app.count("--help") + check.count("--help") + cache.count("--help") > 0)
    return stop(kOk, checks ? kCheckHelp : kHelp);
  if (app.count("--version") > 0) return stop(kOk, "spmd 0.1.0\n");
  if (!app.remaining(true).empty())
    return mistake(unknown_arguments(checks           ? check
                                     : cache.parsed() ? cache
                                                      : app,
                                     {&app, &check, &cache}, line.model));
  if (cache.parsed()) {
    if (action != "ls" && action != "clear") {
      const auto near = nearest(action, {"ls", "clear"});
      return mistake(fmt::format("cache: found \"{}\", expected ls or clear{}", action,
                                 near ? "\n  did you mean " + *near + "?" : ""));
    }
    line.command =
        action == "ls" ? CommandLine::Command::kListCache : CommandLine::Command::kClearCache;
    return parsed;
  }
  if (line.model.empty()) return mistake("no program given: expected a MODEL file");
  if (const auto near = nearest_command(line.model);
      near && !checks && !std::filesystem::exists(line.model))
    return mistake(unknown_command(line.model, *near));
  if (checks) line.command = CommandLine::Command::kCheck;
  return parsed;
}

}  // namespace spmd
