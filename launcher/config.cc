#include "launcher/config.h"

#include <algorithm>
#include <cctype>

#include "frontends/read_file.h"
#include "sharding/annotations/yaml_map.h"
#include "support/error.h"

namespace spmd {

namespace {

std::optional<int64_t> positive(const YamlMap& map, std::string_view key) {
  const auto value = map.integer(key);
  if (value && *value < 1) {
    throw UserError(place_of(*map.find(key), map.source()),
                    fmt::format("{} is {}, expected at least 1", map.path_of(key), *value),
                    "give it a larger number, or leave it out");
  }
  return value;
}

std::optional<std::string> path(const YamlMap& map, std::string_view key) {
  auto value = map.string(key);
  if (value && value->empty()) {
    throw UserError(place_of(*map.find(key), map.source()),
                    fmt::format("{} is empty, expected a path", map.path_of(key)),
                    "give it a path, or leave it out");
  }
  return value;
}

std::optional<Progress> read_progress(const YamlMap& map) {
  const auto text = map.string("progress");
  if (!text) return std::nullopt;
  if (*text == "auto") return Progress::kAuto;
  if (*text == "on" || *text == "true") return Progress::kOn;
  if (*text == "off" || *text == "false") return Progress::kOff;
  throw UserError(place_of(*map.find("progress"), map.source()),
                  fmt::format("log.progress is \"{}\", expected auto, on or off", *text),
                  "auto draws a bar on a terminal, and prints lines elsewhere");
}

LogConfig read_log(const YAML::Node& node, const std::string& source) {
  const YamlMap map(node, source, "log", {"every", "jsonl", "progress"});
  LogConfig log;
  log.every = positive(map, "every");
  log.jsonl = path(map, "jsonl");
  log.progress = read_progress(map);
  return log;
}

std::optional<std::string> read_batches(const YamlMap& map) {
  const YAML::Node* data = map.find("data");
  if (data == nullptr) return path(map, "batches");
  if (map.find("batches") != nullptr) {
    throw UserError(place_of(*data, map.source()), "both data and batches are given",
                    "keep one of them");
  }
  return path(YamlMap(*data, map.source(), "data", {"path"}), "path");
}

template <typename T>
void override_with(std::optional<T>& value, std::optional<T>& flag) {
  if (flag) value = std::move(flag);
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

template <typename T>
void emit(YAML::Emitter& out, const char* key, const std::optional<T>& value) {
  if (value) out << YAML::Key << key << YAML::Value << *value;
}

void emit_log(YAML::Emitter& out, const LogConfig& log) {
  static constexpr const char* kProgress[] = {"auto", "on", "off"};
  if (!log.every && !log.jsonl && !log.progress) return;
  out << YAML::Key << "log" << YAML::Value << YAML::BeginMap;
  emit(out, "every", log.every);
  emit(out, "jsonl", log.jsonl);
  if (log.progress) {
    out << YAML::Key << "progress" << YAML::Value << kProgress[static_cast<size_t>(*log.progress)];
  }
  out << YAML::EndMap;
}

}  // namespace

RunConfig parse_run_config(std::string_view yaml, const std::string& source) {
  const YAML::Node document = parse_yaml(yaml, source);
  const YamlMap map(
      document, source, "",
      {"mesh", "sharding", "train", "state", "batches", "data", "out", "report", "log"});
  RunConfig config;
  if (const YAML::Node* node = map.find("mesh")) config.mesh = read_mesh_spec(*node, source);
  if (const YAML::Node* node = map.find("sharding")) {
    config.sharding = read_sharding_rules(*node, source);
  }
  if (const YAML::Node* node = map.find("train")) {
    config.steps = positive(YamlMap(*node, source, "train", {"steps"}), "steps");
  }
  config.state = path(map, "state");
  config.batches = read_batches(map);
  config.out = path(map, "out");
  config.report = path(map, "report");
  if (const YAML::Node* node = map.find("log")) config.log = read_log(*node, source);
  return config;
}

RunConfig read_run_config(const std::string& path) {
  return parse_run_config(read_file(path), path);
}

RunConfig merge(RunConfig file, RunConfig flags) {
  override_with(file.mesh, flags.mesh);
  override_with(file.sharding, flags.sharding);
  override_with(file.steps, flags.steps);
  override_with(file.state, flags.state);
  override_with(file.batches, flags.batches);
  override_with(file.out, flags.out);
  override_with(file.report, flags.report);
  override_with(file.log.every, flags.log.every);
  override_with(file.log.jsonl, flags.log.jsonl);
  override_with(file.log.progress, flags.log.progress);
  return file;
}

std::string print_config(const RunConfig& config) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  if (config.mesh) emit_mesh(out, *config.mesh);
  if (config.sharding) emit_sharding(out, *config.sharding);
  if (config.steps) {
    out << YAML::Key << "train" << YAML::Value << YAML::BeginMap;
    emit(out, "steps", config.steps);
    out << YAML::EndMap;
  }
  emit(out, "state", config.state);
  emit(out, "batches", config.batches);
  emit(out, "out", config.out);
  emit(out, "report", config.report);
  emit_log(out, config.log);
  out << YAML::EndMap;
  return std::string(out.c_str()) + "\n";
}

}  // namespace spmd
