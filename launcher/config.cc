#include "launcher/config.h"

#include <algorithm>
#include <cctype>

#include "frontends/read_file.h"
#include "launcher/settings.h"
#include "sharding/annotations/yaml_map.h"
#include "support/error.h"

namespace spmd {

namespace {

// The names of the keys of a section; of the document for "", sections included.
std::vector<std::string> known_keys(std::string_view section) {
  std::vector<std::string> known;
  if (section.empty()) known = {"mesh", "sharding", "data"};
  for (const Setting& setting : settings()) {
    const auto [of, name] = split_key(setting.key);
    const std::string_view key = of == section ? name : section.empty() ? of : "";
    if (!key.empty() && std::find(known.begin(), known.end(), key) == known.end())
      known.emplace_back(key);
  }
  return known;
}

// A key of another section, by its name alone: throws UserError that says where it belongs.
void refuse_misplaced(const YAML::Node& map, std::string_view section, const std::string& source) {
  if (!map.IsMap()) return;
  const std::vector<std::string> known = known_keys(section);
  for (const auto& entry : map) {
    if (!entry.first.IsScalar()) continue;
    const std::string& key = entry.first.Scalar();
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const Setting& setting : settings()) {
      const auto [home, name] = split_key(setting.key);
      if (name != key) continue;
      const std::string value(setting.words.empty() ? setting.example
                                                    : std::string_view(setting.words[0]));
      std::string remedy = home.empty() ? fmt::format("{}: {}", key, value)
                                        : fmt::format("{}: {{{}: {}}}", home, key, value);
      if (source.starts_with("--set ")) remedy = fmt::format("--set {}={}", setting.key, value);
      throw UserError(
          place_of(entry.first, source),
          fmt::format("unknown key \"{}{}{}\"", section, section.empty() ? "" : ".", key),
          (home.empty() ? "it is a key of the document: write "
                        : fmt::format("it is a key of {}: write ", home)) +
              remedy);
    }
  }
}

// How a key is written before an example of its value.
std::string example_of(const YamlMap& map, std::string_view key) {
  return map.source().starts_with("--set ") ? fmt::format("--set {}=", map.path_of(key))
                                            : fmt::format("{}: ", key);
}

// YAML has more words for some.
std::string word_for(const Setting& setting, std::string text) {
  const auto is_word = [&](const char* word) {
    return std::find(setting.words.begin(), setting.words.end(), word) != setting.words.end();
  };
  if (text == "true" && is_word("on")) return "on";
  if (text == "false" && is_word("off")) return "off";
  return text;
}

void read_setting(const Setting& setting, const YamlMap& map, std::string_view key,
                  RunConfig& config) {
  const YAML::Node* node = map.find(key);
  if (node == nullptr) return;
  const bool is_list = std::holds_alternative<ListField>(setting.field) && !node->IsScalar();
  const auto read = [&](const YAML::Node& value) {
    const std::string text = word_for(setting, yaml_string(value, map.source(), map.path_of(key)));
    const auto fault = set_value(setting, text, example_of(map, key), config);
    if (!fault) return;
    throw UserError(place_of(value, map.source()),
                    fmt::format("{}: {}", map.path_of(key), fault->fact), fault->remedy);
  };
  if (!is_list) return read(*node);
  for (const YAML::Node& entry : map.sequence(key)) read(entry);
}

// All keys of a section.
void read_section(const YamlMap& map, std::string_view section, RunConfig& config) {
  for (const Setting& setting : settings()) {
    const auto [of, key] = split_key(setting.key);
    if (of == section) read_setting(setting, map, key, config);
  }
}

// data: {path: FILE} is batches: FILE.
void read_data(const YamlMap& document, RunConfig& config) {
  const YAML::Node* data = document.find("data");
  if (data == nullptr) return;
  if (document.find("batches") != nullptr) {
    throw UserError(place_of(*data, document.source()), "both data and batches are given",
                    "keep one of them");
  }
  for (const Setting& setting : settings()) {
    if (setting.key == "batches")
      read_setting(setting, YamlMap(*data, document.source(), "data", {"path"}), "path", config);
  }
}

void emit_spec(YAML::Emitter& out, const DimAxes& spec) {
  out << YAML::Flow << YAML::BeginSeq;
  for (const std::vector<std::string>& axes : spec) {
    if (axes.empty()) {
      out << YAML::Null;
    } else if (axes.size() == 1) {
      out << axes[0];
    } else {
      out << YAML::Flow << axes;
    }
  }
  out << YAML::EndSeq;
}

// `order` says again what the order of `axes` says, for readers whose maps have none.
void emit_mesh(YAML::Emitter& out, const MeshSpec& mesh) {
  out << YAML::Key << "mesh" << YAML::Value << YAML::BeginMap;
  out << YAML::Key << "axes" << YAML::Value << YAML::Flow << YAML::BeginMap;
  for (const MeshAxisSpec& axis : mesh.axes) {
    out << YAML::Key << axis.name << YAML::Value << axis.size;
  }
  out << YAML::EndMap;
  out << YAML::Key << "order" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const MeshAxisSpec& axis : mesh.axes) out << axis.name;
  out << YAML::EndSeq << YAML::EndMap;
}

// Single quotes keep a pattern's backslashes as they are; only double ones can say a control
// character.
YAML::EMITTER_MANIP quotes_for(const std::string& text) {
  const bool has_control =
      std::any_of(text.begin(), text.end(), [](unsigned char c) { return std::iscntrl(c) != 0; });
  return has_control ? YAML::DoubleQuoted : YAML::SingleQuoted;
}

void emit_sharding(YAML::Emitter& out, const ShardingRules& rules) {
  static constexpr const char* kConstraints[] = {"keep", "drop", "only"};
  out << YAML::Key << "sharding" << YAML::Value << YAML::BeginMap;
  if (!rules.rules.empty()) {
    out << YAML::Key << "rules" << YAML::Value << YAML::BeginSeq;
    for (const ShardingRule& rule : rules.rules) {
      out << YAML::Flow << YAML::BeginMap << YAML::Key << "match" << YAML::Value
          << quotes_for(rule.match) << rule.match << YAML::Key << "spec" << YAML::Value;
      emit_spec(out, rule.spec);
      if (rule.is_default) out << YAML::Key << "default" << YAML::Value << true;
      out << YAML::EndMap;
    }
    out << YAML::EndSeq;
  }
  if (!rules.inputs.empty()) {
    out << YAML::Key << "inputs" << YAML::Value << YAML::BeginMap;
    for (const InputRule& input : rules.inputs) {
      out << YAML::Key << input.name << YAML::Value;
      emit_spec(out, input.spec);
    }
    out << YAML::EndMap;
  }
  out << YAML::Key << "constraints" << YAML::Value
      << kConstraints[static_cast<size_t>(rules.constraints)] << YAML::EndMap;
}

void emit_values(YAML::Emitter& out, const Setting& setting,
                 const std::vector<std::string>& values) {
  out << YAML::Key << std::string(split_key(setting.key).second) << YAML::Value;
  if (std::holds_alternative<ListField>(setting.field)) {
    out << YAML::Flow << values;
  } else {
    out << values[0];
  }
}

// Settings of a section stand together.
void emit_settings(YAML::Emitter& out, const RunConfig& config) {
  std::string_view section;
  for (const Setting& setting : settings()) {
    const std::vector<std::string> values = values_of(setting, config);
    if (values.empty()) continue;
    const std::string_view next = split_key(setting.key).first;
    if (next != section && !section.empty()) out << YAML::EndMap;
    if (next != section && !next.empty())
      out << YAML::Key << std::string(next) << YAML::Value << YAML::BeginMap;
    section = next;
    emit_values(out, setting, values);
  }
  if (!section.empty()) out << YAML::EndMap;
}

}  // namespace

RunConfig parse_run_config(std::string_view yaml, const std::string& source) {
  const YAML::Node document = parse_yaml(yaml, source);
  refuse_misplaced(document, "", source);
  const YamlMap map(document, source, "", known_keys(""));
  RunConfig config;
  if (const YAML::Node* node = map.find("mesh")) config.mesh = read_mesh_spec(*node, source);
  if (const YAML::Node* node = map.find("sharding")) {
    config.sharding = read_sharding_rules(*node, source);
  }
  read_section(map, "", config);
  read_data(map, config);
  for (const char* section : {"train", "log"}) {
    const YAML::Node* node = map.find(section);
    if (node == nullptr) continue;
    refuse_misplaced(*node, section, source);
    read_section(YamlMap(*node, source, section, known_keys(section)), section, config);
  }
  return config;
}

RunConfig read_run_config(const std::string& path) {
  return parse_run_config(read_file(path), path);
}

RunConfig merge(RunConfig file, RunConfig flags) {
  for (const Setting& setting : settings()) override_setting(setting, flags, file);
  if (flags.mesh) file.mesh = std::move(flags.mesh);
  if (flags.sharding) file.sharding = std::move(flags.sharding);
  return file;
}

std::string print_config(const RunConfig& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  if (config.mesh) emit_mesh(out, *config.mesh);
  if (config.sharding) emit_sharding(out, *config.sharding);
  emit_settings(out, config);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

std::string describe_config(const RunConfig& config) {
  std::string text = print_config(config);
  for (const Setting& setting : settings()) {
    if (setting.otherwise.empty() || !values_of(setting, config).empty()) continue;
    const auto [section, name] = split_key(setting.key);
    const std::string value = fmt::format("{}: {}", name, setting.otherwise);
    text += section.empty() ? fmt::format("# {}\n", value)
                            : fmt::format("# {}: {{{}}}\n", section, value);
  }
  return text;
}

}  // namespace spmd
