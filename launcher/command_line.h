// The command line of spmd-run, as written: no file is read and no rank is known yet.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "launcher/config.h"

namespace spmd {

struct CommandLine {
  enum class Command { kRun, kCheck, kListCache, kClearCache };
  Command command = Command::kRun;
  std::string model;                  // program or saved Plan
  std::string config;                 // YAML file, or empty
  std::vector<std::string> settings;  // --set KEY=VALUE
  std::string mesh;                   // --mesh, as written
  RunConfig flags;                    // what the flags of launcher/settings.h say
  int ranks = 0;                      // 0: not given
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
