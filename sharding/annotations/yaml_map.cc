#include "sharding/annotations/yaml_map.h"

#include <algorithm>
#include <charconv>

#include "support/error.h"
#include "support/strings.h"

namespace spmd {

namespace {

std::string_view kind_of(const YAML::Node& node) {
  if (node.IsMap()) return "a map";
  if (node.IsSequence()) return "a list";
  if (node.IsScalar()) return "a value";
  return "nothing";
}

// YAML that stands in an option has no lines.
bool is_command_line(const std::string& source) { return source.starts_with("--"); }

std::string join(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

YAML::Node parse_yaml(std::string_view text, const std::string& source) {
  try {
    return YAML::Load(std::string(text));
  } catch (const YAML::Exception& error) {
    throw UserError(is_command_line(source) ? source
                                            : fmt::format("{}:{}:{}", source, error.mark.line + 1,
                                                          error.mark.column + 1),
                    fmt::format("not valid YAML: {}", error.msg),
                    "look there and in the lines before for indentation, quotes and brackets");
  }
}

std::string place_of(const YAML::Node& node, const std::string& source) {
  const int line = node.Mark().line;
  if (line < 0 || is_command_line(source)) return source;
  return fmt::format("{}:{}", source, line + 1);
}

std::string yaml_string(const YAML::Node& node, const std::string& source, std::string_view what) {
  if (node.IsScalar()) return node.Scalar();
  throw UserError(place_of(node, source),
                  fmt::format("{} is {}, expected a text", what, kind_of(node)),
                  "write one word there, or a text in quotes");
}

int64_t yaml_integer(const YAML::Node& node, const std::string& source, std::string_view what) {
  const std::string text = yaml_string(node, source, what);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  throw UserError(place_of(node, source),
                  fmt::format("{} is \"{}\", expected an integer", what, text),
                  "write it in digits, for example 4");
}

bool yaml_bool(const YAML::Node& node, const std::string& source, std::string_view what) {
  const std::string text = yaml_string(node, source, what);
  bool value = false;
  if (YAML::convert<bool>::decode(node, value)) return value;
  throw UserError(place_of(node, source),
                  fmt::format("{} is \"{}\", expected true or false", what, text),
                  "write one of them, without quotes");
}

YamlEntries yaml_entries(const YAML::Node& node, const std::string& source, std::string_view what) {
  YamlEntries entries;
  if (!node.IsDefined() || node.IsNull()) return entries;
  if (!node.IsMap()) {
    throw UserError(place_of(node, source),
                    fmt::format("{} is {}, expected a map", what, kind_of(node)),
                    "write keys with values there: {KEY: VALUE, KEY: VALUE}");
  }
  for (const auto& entry : node) {
    std::string key = yaml_string(entry.first, source, fmt::format("a key of {}", what));
    for (const auto& [other, value] : entries) {
      if (other == key) {
        throw UserError(place_of(entry.first, source),
                        fmt::format("key \"{}\" occurs twice in {}", key, what),
                        "keep one of them");
      }
    }
    entries.emplace_back(std::move(key), entry.second);
  }
  return entries;
}

YamlMap::YamlMap(const YAML::Node& node, std::string source, std::string path,
                 const std::vector<std::string>& known)
    : source_(std::move(source)), path_(std::move(path)) {
  const std::string what = path_.empty() ? "the document" : path_;
  entries_ = yaml_entries(node, source_, what);
  for (const auto& [key, value] : entries_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    YAML::Node key_node;
    for (const auto& entry : node) {
      if (entry.first.Scalar() == key) key_node.reset(entry.first);
    }
    const auto near = nearest(key, known);
    throw UserError(place_of(key_node, source_), fmt::format("unknown key \"{}\"", path_of(key)),
                    near ? fmt::format("did you mean \"{}\"? known keys: {}", *near, join(known))
                         : "known keys: " + join(known));
  }
}

const YAML::Node* YamlMap::find(std::string_view key) const {
  for (const auto& [name, value] : entries_) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::optional<std::string> YamlMap::string(std::string_view key) const {
  const YAML::Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  return yaml_string(*node, source_, path_of(key));
}

std::optional<int64_t> YamlMap::integer(std::string_view key) const {
  const YAML::Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  return yaml_integer(*node, source_, path_of(key));
}

std::optional<bool> YamlMap::boolean(std::string_view key) const {
  const YAML::Node* node = find(key);
  if (node == nullptr) return std::nullopt;
  return yaml_bool(*node, source_, path_of(key));
}

std::vector<YAML::Node> YamlMap::sequence(std::string_view key) const {
  const YAML::Node* node = find(key);
  if (node == nullptr || node->IsNull()) return {};
  if (!node->IsSequence()) {
    throw UserError(place_of(*node, source_),
                    fmt::format("{} is {}, expected a list", path_of(key), kind_of(*node)),
                    fmt::format("write {}: [ENTRY, ENTRY]", key));
  }
  return {node->begin(), node->end()};
}

std::string YamlMap::path_of(std::string_view key) const {
  return path_.empty() ? std::string(key) : fmt::format("{}.{}", path_, key);
}

}  // namespace spmd
