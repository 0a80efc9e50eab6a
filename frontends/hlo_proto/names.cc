#include "frontends/hlo_proto/names.h"

#include <algorithm>
#include <array>

namespace spmd::hlo_proto {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// "x.1" was named "x" before XLA made names unique.
std::string_view without_number(std::string_view name) {
  size_t end = name.size();
  while (end > 0 && is_digit(name[end - 1])) --end;
  const bool numbered = end < name.size() && end > 1 && name[end - 1] == '.';
  return numbered ? name.substr(0, end - 1) : name;
}

// Names that exporters make up: Arg_0, arg0, param_3, parameter.
bool is_made_up(std::string_view name) {
  while (!name.empty() && (is_digit(name.back()) || name.back() == '_' || name.back() == '.')) {
    name.remove_suffix(1);
  }
  return name.empty() || name == "Arg" || name == "arg" || name == "args" || name == "param" ||
         name == "parameter" || name == "p";
}

// The parts between the slashes that are in no parentheses.
std::vector<std::string_view> components(std::string_view scope) {
  std::vector<std::string_view> parts;
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i <= scope.size(); ++i) {
    if (i < scope.size() && scope[i] == '(') ++depth;
    if (i < scope.size() && scope[i] == ')') --depth;
    if (i < scope.size() && (scope[i] != '/' || depth > 0)) continue;
    parts.push_back(scope.substr(begin, i - begin));
    begin = i + 1;
  }
  return parts;
}

// The scope that a component names: "loss" of "jvp(loss)", which is the scope of that name under a
// derivative. Empty for what JAX itself writes: functions and control flow.
std::string_view named_scope(std::string_view part) {
  constexpr std::array kTransforms = {"jvp(", "transpose(", "vmap("};
  constexpr std::array kJax = {"body", "checkpoint", "closed_call",
                               "cond", "pjit",       "rematted_computation",
                               "scan", "shard_map",  "while"};
  for (bool inside = true; inside;) {
    inside = false;
    for (const std::string_view transform : kTransforms) {
      if (!part.starts_with(transform) || !part.ends_with(')')) continue;
      part = part.substr(transform.size(), part.size() - transform.size() - 1);
      inside = true;
    }
  }
  const bool is_jax = part.find('(') != std::string_view::npos || part.starts_with("branch_") ||
                      std::find(kJax.begin(), kJax.end(), part) != kJax.end();
  return is_jax ? std::string_view() : part;
}

}  // namespace

// JAX puts the argument's path, "state['params']['w']", into the scope name, and a mangled form of
// it into the instruction's name.
std::string argument_name(const Instruction& parameter) {
  const std::string& scope = parameter.metadata().op_name();
  if (!scope.empty() && !is_made_up(scope)) return scope;
  const std::string_view name = without_number(parameter.name());
  return is_made_up(name) ? std::string() : std::string(name);
}

std::string result_name(const Instruction& producer) {
  const std::string& scope = producer.metadata().op_name();
  if (scope.empty()) {
    std::string opcode = producer.opcode();
    std::replace(opcode.begin(), opcode.end(), '-', '_');
    const std::string& name = producer.name();
    const bool given = without_number(name) == name && !is_made_up(name) &&
                       name != producer.opcode() && name != opcode;
    return given ? name : "";
  }
  std::string name;
  std::vector<std::string_view> parts = components(scope);
  parts.pop_back();  // the operation
  for (const std::string_view part : parts) {
    const std::string_view named = named_scope(part);
    if (!named.empty()) name.append(name.empty() ? "" : "/").append(named);
  }
  return name;
}

}  // namespace spmd::hlo_proto
