// Strict reading of YAML maps: every error says where and what is known. Includes yaml-cpp; for
// sources only.
#pragma once

#include <yaml-cpp/yaml.h>

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace spmd {

// Parses one document; an empty one is a null node. Throws UserError(file:line:column, ...).
YAML::Node parse_yaml(std::string_view text, const std::string& source);

// "file:line" of a node.
std::string place_of(const YAML::Node& node, const std::string& source);

// The text of a scalar. `what` names it in errors: "mesh.axes.data".
std::string yaml_string(const YAML::Node& node, const std::string& source, std::string_view what);
int64_t yaml_integer(const YAML::Node& node, const std::string& source, std::string_view what);
bool yaml_bool(const YAML::Node& node, const std::string& source, std::string_view what);

// The entries of a map in their order, keys as text. Throws UserError for anything but a map (null
// is an empty one) and for a key that occurs twice.
using YamlEntries = std::vector<std::pair<std::string, YAML::Node>>;
YamlEntries yaml_entries(const YAML::Node& node, const std::string& source, std::string_view what);

// A map with known keys. Construction throws UserError for an unknown key, naming the nearest known
// one.
class YamlMap {
 public:
  YamlMap(const YAML::Node& node, std::string source, std::string path,
          const std::vector<std::string>& known);

  // Null when absent.
  const YAML::Node* find(std::string_view key) const;
  std::optional<std::string> string(std::string_view key) const;
  std::optional<int64_t> integer(std::string_view key) const;
  std::optional<bool> boolean(std::string_view key) const;
  // Throws UserError unless the value of `key` is a sequence; nothing when absent.
  std::vector<YAML::Node> sequence(std::string_view key) const;

  const std::string& source() const { return source_; }
  // "sharding.rules": the key's path from the document's root.
  std::string path_of(std::string_view key) const;

 private:
  std::string source_, path_;
  YamlEntries entries_;
};

}  // namespace spmd
