// Settings: what a run can be told besides its mesh and shardings. One table of them serves the
// command line, YAML files, --set and --print-config, so that they have the same names, values and
// errors everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "launcher/config.h"

namespace spmd {

using TextField = std::optional<std::string> RunConfig::*;
using CountField = std::optional<int64_t> RunConfig::*;   // at least 1
using SecondsField = std::optional<double> RunConfig::*;  // more than 0
using ListField = std::vector<std::string> RunConfig::*;  // of texts

struct Setting {
  std::string_view key;   // in a YAML file, section first: "train.steps", "watchdog"
  std::string_view flag;  // "--steps"; empty: there is none
  std::variant<TextField, CountField, SecondsField, ListField> field;
  // A text is one of these, the first one by default; none: it is a path.
  std::vector<std::string> words = {};
  std::string_view example = "";    // of another value than a word
  std::string_view otherwise = "";  // what holds when nothing is said; empty: nothing does
  bool of_check = false;            // `spmd-run check` takes the flag too
};

// In the order in which they are printed.
std::span<const Setting> settings();

// "train" and "steps", "" and "watchdog".
std::pair<std::string_view, std::string_view> split_key(std::string_view key);

// What is wrong with a value: what was found and expected, and what to write instead.
struct SettingFault {
  std::string fact, remedy;
};

// Puts the value that `text` says into `config`; an entry of a list is added. `name` begins the
// example in what is wrong with it, with what separates it from a value: "--watchdog ".
std::optional<SettingFault> set_value(const Setting& setting, const std::string& text,
                                      std::string_view name, RunConfig& config);

// What is set, as texts that set_value() reads: one for each entry of a list, none when nothing is
// set.
std::vector<std::string> values_of(const Setting& setting, const RunConfig& config);

// What `flags` says of a setting wins over what `config` says; lists are joined.
void override_setting(const Setting& setting, const RunConfig& flags, RunConfig& config);

}  // namespace spmd
