// Reading of sharding rules; see apply_rules.cc for what they do.
#include "sharding/annotations/rules.h"

#include "sharding/annotations/pattern.h"
#include "sharding/annotations/yaml_map.h"
#include "support/error.h"

namespace spmd {

namespace {

// std::regex recurses on its input.
constexpr size_t kMaxPattern = 1000;

std::vector<std::string> read_axes(const YAML::Node& node, const std::string& source) {
  if (node.IsNull()) return {};
  if (node.IsScalar()) return {node.Scalar()};
  if (!node.IsSequence()) {
    throw UserError(place_of(node, source), "an entry of a spec is a map",
                    "write an axis, null or a list of axes for each dimension");
  }
  std::vector<std::string> axes;
  for (const YAML::Node& axis : node) {
    axes.push_back(yaml_string(axis, source, "an axis of a spec"));
  }
  return axes;
}

DimAxes read_spec(const YAML::Node& node, const std::string& source, const std::string& what) {
  if (!node.IsSequence()) {
    throw UserError(place_of(node, source), fmt::format("{} is not a list", what),
                    "write an axis, null or a list of axes for each dimension: [data, null]");
  }
  DimAxes spec;
  for (const YAML::Node& dim : node) spec.push_back(read_axes(dim, source));
  return spec;
}

// In words of ours. libstdc++ takes a repetition of nothing for a fault of parentheses.
const char* fault_of(const std::regex_error& error) {
  namespace code = std::regex_constants;
  if (error.code() == code::error_brack) return "a [ without its ]";
  if (error.code() == code::error_paren || error.code() == code::error_badrepeat) {
    return "a ( or ) without its partner, a *, + or ? with nothing before it, or a (?...) other "
           "than (?:, (?= and (?!";
  }
  if (error.code() == code::error_brace || error.code() == code::error_badbrace) {
    return "a { without its }, or no count between them";
  }
  if (error.code() == code::error_escape) return "a \\ with nothing after it";
  if (error.code() == code::error_range) return "a range like z-a, which holds nothing";
  if (error.code() == code::error_backref) return "a reference to a group that does not exist";
  if (error.code() == code::error_ctype) return "an unknown [:class:]";
  if (error.code() == code::error_collate) return "an unknown [.element.]";
  if (error.code() == code::error_complexity) {
    return "a reference to a group, which may take any time to match";
  }
  return "it is too complex";
}

void check_pattern(const ShardingRule& rule) {
  if (rule.match.size() > kMaxPattern) {
    throw UserError(rule.place,
                    fmt::format("the pattern has {} characters, at most {} are read",
                                rule.match.size(), kMaxPattern),
                    "write it as several rules");
  }
  try {
    compile_pattern(rule.match);
  } catch (const std::regex_error& error) {
    throw UserError(
        rule.place,
        fmt::format("\"{}\" is not a regular expression: {}", rule.match, fault_of(error)),
        "patterns are those of ECMAScript: write \\ before ( ) [ ] { } . * + ? | ^ $ \\ "
        "to mean the character itself");
  }
}

ShardingRule read_rule(const YAML::Node& node, const std::string& source) {
  const YamlMap map(node, source, "sharding.rules", {"match", "spec", "default"});
  ShardingRule rule;
  rule.place = place_of(node, source);
  const auto match = map.string("match");
  const YAML::Node* spec = map.find("spec");
  if (!match || spec == nullptr) {
    throw UserError(rule.place, fmt::format("the rule has no {}", match ? "spec" : "match"),
                    "a rule is {match: PATTERN, spec: [AXIS, null, [AXIS, AXIS]]}");
  }
  rule.match = *match;
  rule.spec = read_spec(*spec, source, "spec");
  rule.is_default = map.boolean("default").value_or(false);
  check_pattern(rule);
  return rule;
}

ShardingRules::Constraints read_constraints(const YamlMap& map) {
  using Constraints = ShardingRules::Constraints;
  const auto text = map.string("constraints");
  if (!text || *text == "keep") return Constraints::kKeep;
  if (*text == "drop") return Constraints::kDrop;
  if (*text == "only") return Constraints::kOnly;
  throw UserError(
      place_of(*map.find("constraints"), map.source()),
      fmt::format("sharding.constraints is \"{}\", expected keep, drop or only", *text),
      "keep: the file's shardings hold where no rule does; drop: only the rules hold; only: only "
      "the file's hold");
}

}  // namespace

ShardingRules read_sharding_rules(const YAML::Node& node, const std::string& source) {
  const YamlMap map(node, source, "sharding", {"rules", "inputs", "constraints"});
  ShardingRules rules;
  for (const YAML::Node& rule : map.sequence("rules")) {
    rules.rules.push_back(read_rule(rule, source));
  }
  if (const YAML::Node* inputs = map.find("inputs")) {
    for (const auto& [name, spec] : yaml_entries(*inputs, source, "sharding.inputs")) {
      rules.inputs.push_back(
          {name, read_spec(spec, source, "sharding.inputs." + name), place_of(spec, source)});
    }
  }
  rules.constraints = read_constraints(map);
  const bool any = !rules.rules.empty() || !rules.inputs.empty();
  if (rules.constraints == ShardingRules::Constraints::kOnly && any) {
    throw UserError(place_of(*map.find("constraints"), source),
                    "constraints: only excludes rules and inputs",
                    "remove them, or write constraints: keep");
  }
  return rules;
}

ShardingRules parse_sharding_rules(std::string_view yaml, const std::string& source) {
  const YAML::Node document = parse_yaml(yaml, source);
  const YamlMap map(document, source, "", {"mesh", "sharding"});
  ShardingRules rules;
  if (const YAML::Node* node = map.find("sharding")) rules = read_sharding_rules(*node, source);
  if (const YAML::Node* node = map.find("mesh")) rules.mesh = read_mesh_spec(*node, source);
  return rules;
}

}  // namespace spmd
