// Every setting means the same on the command line, in a file, in --set and when it is printed.
#include "launcher/settings.h"

#include <gtest/gtest.h>

#include "launcher/command_line.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

std::string a_value(const Setting& setting) {
  return setting.words.empty() ? std::string(setting.example) : setting.words.back();
}

// `KEY: VALUE` in the section of the key, in quotes.
std::string yaml_of(const Setting& setting, const std::string& value) {
  const auto [section, name] = split_key(setting.key);
  const std::string entry = fmt::format("{}: '{}'", name, value);
  return section.empty() ? entry : fmt::format("{}: {{{}}}", section, entry);
}

RunConfig from_flag(const Setting& setting, const std::string& value) {
  const std::string flag(setting.flag);
  const char* words[] = {"spmd-run", "m.mlir", flag.c_str(), value.c_str()};
  const ParsedCommandLine parsed = parse_command_line(4, words);
  EXPECT_FALSE(parsed.stop) << parsed.text;
  return resolve_config(parsed.line);
}

RunConfig from_set(const Setting& setting, const std::string& value) {
  CommandLine line;
  line.settings = {fmt::format("{}={}", setting.key, value)};
  return resolve_config(line);
}

TEST(Settings, AreTheSameHoweverTheyAreSaid) {
  for (const Setting& setting : settings()) {
    const std::string value = a_value(setting);
    const std::vector<std::string> expected = {value};
    const RunConfig config = parse_run_config(yaml_of(setting, value), "run.yaml");
    EXPECT_EQ(values_of(setting, config), expected) << setting.key;
    const RunConfig printed = parse_run_config(print_config(config), "printed");
    EXPECT_EQ(values_of(setting, printed), expected) << print_config(config);
    EXPECT_EQ(values_of(setting, from_set(setting, value)), expected) << setting.key;
    if (setting.flag.empty()) continue;
    EXPECT_EQ(values_of(setting, from_flag(setting, value)), expected) << setting.flag;
  }
}

// The printed configuration names whatever has a value, given or not.
TEST(Settings, DefaultsArePrintedInComments) {
  const std::string empty = describe_config({});
  for (const Setting& setting : settings()) {
    if (setting.otherwise.empty()) continue;
    const std::string name(split_key(setting.key).second);
    EXPECT_NE(empty.find(fmt::format("{}: {}", name, setting.otherwise)), std::string::npos)
        << name << " in " << empty;
  }
  RunConfig config;
  config.watchdog = 7;
  EXPECT_EQ(describe_config(config).find("watchdog: 7\n"), 0u);
  EXPECT_EQ(describe_config(config).find("# watchdog"), std::string::npos);
  EXPECT_EQ(values_of(settings()[0], parse_run_config(describe_config(config), "described")),
            std::vector<std::string>());
}

TEST(Settings, FlagsWinAndListsAreJoined) {
  RunConfig file = parse_run_config("watchdog: 5\ndevice: cuda\nset-dim: [b=8, n=2]", "run.yaml");
  RunConfig flags;
  flags.watchdog = 0.5;
  flags.dims = {"b=16"};
  const RunConfig config = merge(file, flags);
  EXPECT_EQ(config.watchdog, 0.5);
  EXPECT_EQ(config.device, "cuda");
  EXPECT_EQ(config.dims, (std::vector<std::string>{"b=8", "n=2", "b=16"}));
}

}  // namespace
}  // namespace spmd
