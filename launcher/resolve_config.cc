#include "launcher/command_line.h"
#include "support/error.h"

namespace spmd {
namespace {

// "train.steps=10" as the document `train: {steps: 10}`.
RunConfig parse_setting(const std::string& setting) {
  const std::string source = "--set " + setting;
  const size_t equals = setting.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw UserError(source, "expected KEY=VALUE", "for example: --set train.steps=10");
  }
  std::string yaml, close;
  for (size_t begin = 0; begin <= equals;) {
    const size_t end = std::min(setting.find('.', begin), equals);
    if (begin > 0) {
      yaml += "{";
      close += "}";
    }
    yaml += setting.substr(begin, end - begin) + ": ";
    begin = end + 1;
  }
  return parse_run_config(yaml + setting.substr(equals + 1) + close, source);
}

RunConfig flags_of(const CommandLine& line) {
  RunConfig flags = line.flags;
  if (!line.mesh.empty()) flags.mesh = parse_mesh_spec(line.mesh);
  return flags;
}

}  // namespace

RunConfig resolve_config(const CommandLine& line) {
  RunConfig config;
  if (!line.config.empty()) config = read_run_config(line.config);
  for (const std::string& setting : line.settings) {
    config = merge(std::move(config), parse_setting(setting));
  }
  return merge(std::move(config), flags_of(line));
}

}  // namespace spmd
