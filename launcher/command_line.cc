#include "launcher/command_line.h"

#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>

#include "launcher/exit_codes.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

// Each fits a screen of 24 lines by 80 characters.
constexpr const char* kHelp =
    R"(usage: [mpirun -n N] spmd-run MODEL [options]    train an exported program
       spmd-run check MODEL [options]            what a mesh costs; no devices
       spmd-run cache ls|clear [--cache-dir DIR] what is kept between runs

MODEL is StableHLO (text, bytecode), HLO (proto, text), ONNX or a saved Plan.

  --state FILE        initial state (safetensors, npy); --init random: the rest
  --batches FILE      one batch a step (safetensors, npy)
  --steps N           steps to run; all batches by default
  --out FILE          final state (safetensors)
  --report DIR        report.json, report.txt and metrics.jsonl
  --check FILE        compare metrics and final state with a safetensors file
  --tolerances FILE   JSON: how far --check lets them differ
  --mesh AXES         sizes of the mesh axes: data=2,model=4; one may be -1
  --ranks N           ranks as threads of this process, without mpirun
  --config FILE       YAML: mesh, sharding rules and the options above
  --set KEY=VALUE     override a key of the config: --set train.steps=10
  --set-dim NAME=SIZE, --set-input NAME=VALUE   what the program leaves open
  --save-plan FILE    write the compiled Plan, to be run as MODEL
  --device KIND       cpu, cuda or auto; --codegen off: without compiled kernels
  --cache-dir DIR     where those are kept; --explain fusion: what was fused
  --watchdog SECONDS  how long a step waits for another rank (20)
  --compile-budget S  seconds for compiling; --cuda-graphs on: steps as graphs
  --print-config      print the configuration and stop; --verbose: more tables
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

// An integer of at least 1 and at most `most`.
CLI::Validator count_of(const char* what, int64_t most) {
  return CLI::Validator(
      [=](const std::string& text) -> std::string {
        int64_t value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        if (whole && value >= 1 && value <= most) return "";
        return fmt::format(
            "found \"{}\", expected a number of {} of at least 1{}\n  for example: 4", text, what,
            whole && value > 1 ? fmt::format(" and at most {}", most) : "");
      },
      "");
}

// Of seconds that are more than 0.
CLI::Validator duration() {
  return CLI::Validator(
      [](const std::string& text) -> std::string {
        constexpr double kMost = 1e6;
        double value = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
        const bool whole = error == std::errc() && end == text.data() + text.size();
        if (whole && value > 0 && value <= kMost) return "";
        return fmt::format(
            "found \"{}\", expected seconds: more than 0, at most {:.0f}\n  for example: 20", text,
            kMost);
      },
      "");
}

std::optional<DeviceChoice> device_choice(const std::string& kind) {
  if (kind == "auto") return DeviceChoice::kAuto;
  if (kind == "cpu") return DeviceChoice::kCpu;
  if (kind == "cuda") return DeviceChoice::kCuda;
  return std::nullopt;
}

CLI::Validator device_kind() {
  return CLI::Validator(
      [](const std::string& text) {
        if (device_choice(text)) return std::string();
        return fmt::format("found \"{}\", expected cpu, cuda or auto\n  for example: --device cpu",
                           text);
      },
      "");
}

CLI::Validator one_of(const char* a, const char* b) {
  return CLI::Validator(
      [=](const std::string& word) {
        if (word == a || word == b) return std::string();
        return fmt::format("found \"{}\", expected {} or {}", word, a, b);
      },
      "");
}

// The only word that is known so far.
CLI::Validator only(const char* word) {
  return CLI::Validator(
      [=](const std::string& text) {
        if (text == word) return std::string();
        return fmt::format("found \"{}\", expected {}\n  nothing else is known here yet", text,
                           word);
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
  for (auto [flag, values] :
       {std::pair{"--set-dim", &line.dims}, std::pair{"--set-input", &line.inputs}}) {
    app.add_option(flag, *values)
        ->allow_extra_args(false)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  app.add_option("--mesh", line.mesh);
  app.add_option("--ranks", line.ranks)->check(count_of("ranks", most_ranks));
  app.add_flag("--verbose", line.verbose);
  app.add_flag("--print-config", line.print_config);
}

void add_run(CLI::App& app, CommandLine& line) {
  app.add_option("--state", line.state);
  app.add_option_function<std::string>("--init",
                                       [&](const std::string&) { line.random_init = true; })
      ->check(only("random"));
  app.add_option("--batches", line.batches);
  app.add_option("--steps", line.steps)->check(count_of("steps", int64_t{1} << 50));
  app.add_option("--out", line.out);
  app.add_option("--report", line.report);
  app.add_option("--check", line.expected);
  app.add_option("--tolerances", line.tolerances);
  app.add_option("--save-plan", line.save_plan);
  app.add_option_function<std::string>(
         "--device", [&](const std::string& kind) { line.device = *device_choice(kind); })
      ->check(device_kind());
  app.add_option_function<std::string>(
         "--codegen", [&](const std::string& word) { line.codegen = word == "auto"; })
      ->check(one_of("auto", "off"));
  app.add_option("--cache-dir", line.cache_dir);
  app.add_option("--watchdog", line.watchdog)->check(duration());
  app.add_option("--compile-budget", line.compile_budget)->check(duration());
  app.add_option_function<std::string>(
         "--cuda-graphs", [&](const std::string& word) { line.cuda_graphs = word == "on"; })
      ->check(one_of("on", "off"));
  app.add_option_function<std::string>("--explain",
                                       [&](const std::string&) { line.explain_fusion = true; })
      ->check(only("fusion"));
  app.add_flag("--version");
}

// "unknown option --stat; did you mean --state?"
std::string unknown_arguments(const CLI::App& app) {
  std::vector<std::string> known;
  for (const CLI::Option* option : app.get_options()) known.push_back(option->get_name());
  for (const std::string& word : app.remaining(true)) {
    if (word.rfind('-', 0) != 0) continue;
    const auto near = nearest(word.substr(0, word.find('=')), known);
    return fmt::format("unknown option {}{}", word, near ? "\n  did you mean " + *near + "?" : "");
  }
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
  add_run(app, line);
  CLI::App& check = *app.add_subcommand("check");
  check.allow_extras();
  add_shared(check, line, kMostRanks);
  check.add_flag("--json", line.json);
  CLI::App& cache = *app.add_subcommand("cache");
  std::string action;
  cache.allow_extras();
  cache.set_help_flag();
  cache.add_flag("-h,--help");
  cache.add_option("ACTION", action);
  cache.add_option("--cache-dir", line.cache_dir);

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
    return mistake(unknown_arguments(checks ? check : cache.parsed() ? cache : app));
  if (cache.parsed()) {
    if (action != "ls" && action != "clear")
      return mistake(fmt::format("cache: found \"{}\", expected ls or clear", action));
    line.command =
        action == "ls" ? CommandLine::Command::kListCache : CommandLine::Command::kClearCache;
    return parsed;
  }
  if (line.model.empty()) return mistake("no program given: expected a MODEL file");
  if (checks) line.command = CommandLine::Command::kCheck;
  return parsed;
}

}  // namespace spmd
