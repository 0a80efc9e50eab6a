// The command line of spmd-run, as written: no file is read and no rank is known yet.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "launcher/config.h"
#include "runtime/device/make_device.h"

namespace spmd {

struct CommandLine {
  enum class Command { kRun, kCheck, kListCache, kClearCache };
  Command command = Command::kRun;
  std::string model;                  // program or saved Plan
  std::string config;                 // YAML file, or empty
  std::vector<std::string> settings;  // --set KEY=VALUE
  std::vector<std::string> dims;      // --set-dim NAME=SIZE
  std::vector<std::string> inputs;    // --set-input NAME=VALUE
  std::string mesh, state, batches, out, report;
  int64_t steps = 0;         // 0: not given
  int ranks = 0;             // 0: not given
  bool random_init = false;  // --init random
  DeviceChoice device = DeviceChoice::kAuto;
  std::string expected;  // --check
  std::string tolerances;
  std::string save_plan;
  bool explain_fusion = false;           // --explain fusion
  bool codegen = true;                   // --codegen auto
  std::optional<double> compile_budget;  // --compile-budget, seconds
  bool cuda_graphs = false;              // --cuda-graphs on
  std::optional<double> watchdog;        // --watchdog, seconds; absent: the default
  std::string cache_dir;                 // empty: FileCache::default_root()
  bool print_config = false;
  bool json = false;
  bool verbose = false;
};

// What parsing ended in: a command line, or a text to print (help, version), or a mistake and an
// exit code to stop with.
struct ParsedCommandLine {
  CommandLine line;
  // The values of the options that were given, by name, as written: "--steps", "MODEL".
  std::map<std::string, std::string> given;
  bool stop = false;
  int exit_code = 0;
  std::string text;  // of a mistake, without "spmd-run: " and the end of the line
};

ParsedCommandLine parse_command_line(int argc, const char* const* argv);

// The configuration in force: the file's, then --set, then flags. Reads the file. Throws UserError.
RunConfig resolve_config(const CommandLine& line);

}  // namespace spmd
