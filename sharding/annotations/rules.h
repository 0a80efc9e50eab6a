// Sharding rules: which parameter is sharded how, from YAML.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ir/module.h"
#include "sharding/annotations/mesh_spec.h"

namespace spmd {

// Per dimension its axes by name, major to minor; dimensions beyond the end are whole.
using DimAxes = std::vector<std::vector<std::string>>;

struct ShardingRule {
  std::string match;  // regular expression (ECMAScript), searched in the parameter's name
  DimAxes spec;
  bool is_default = false;  // for what nothing else names: no rule before it, and not the file
  std::string place;        // "rules.yaml:7"
};

// Of a program's input by name: all of it, or its last words. An argument without a name goes by
// its number, "argument 2".
struct InputRule {
  std::string name;
  DimAxes spec;
  std::string place;
};

struct ShardingRules {
  // What becomes of the shardings inside the program's file.
  enum class Constraints : uint8_t {
    kKeep,  // they hold where no rule says otherwise
    kDrop,  // only the rules hold
    kOnly,  // only they hold; rules are an error
  };
  std::optional<MeshSpec> mesh;
  std::vector<ShardingRule> rules;  // the first that matches holds
  std::vector<InputRule> inputs;
  Constraints constraints = Constraints::kKeep;
};

// Reads a document with the sections
//   mesh: {axes: {data: -1, model: 2}, order: [data, model]}
//   sharding:
//     rules:
//       - {match: 'attn/.*/kernel', spec: [null, [data, model]]}
//       - {match: '.*', spec: [], default: true}
//     inputs: {ids: [data, null]}
//     constraints: keep | drop | only
// both optional. Throws UserError with file:line for unknown keys, malformed values and patterns.
ShardingRules parse_sharding_rules(std::string_view yaml, const std::string& source);

// The section `sharding` alone.
ShardingRules read_sharding_rules(const YAML::Node& node, const std::string& source);

// What apply_rules decided for one argument of main.
struct ParameterSharding {
  std::string name;
  TensorType type;
  Sharding sharding;
  std::string source;          // the rule's place and pattern, "file" or "replicated scalar"
  int64_t bytes_per_rank = 0;  // of the largest shard
};

// Gives the arguments of main, and the results that replace them, their shardings. The module's
// mesh must have the axes that rules name. Without rules, arguments keep what the file says. Throws
// UserError for a rule or input that matches nothing, a parameter that nothing matches, a spec with
// more entries than dimensions and an unknown axis.
std::vector<ParameterSharding> apply_rules(Module& module, const ShardingRules& rules);

// The table as text, one line per parameter.
std::string to_string(const std::vector<ParameterSharding>& table, const Mesh& mesh);

}  // namespace spmd
