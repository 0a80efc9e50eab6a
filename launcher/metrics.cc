#include "launcher/metrics.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "support/error.h"

namespace spmd {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

nlohmann::ordered_json number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == std::floor(value) && std::fabs(value) < 1e15) return static_cast<int64_t>(value);
  return value;
}

}  // namespace

std::string metric_name(std::string_view text) {
  // "result[i]" is where the program's tuple of results is entered.
  size_t at = 0;
  if (text.rfind("result", 0) == 0 && (text.size() == 6 || !is_word(text[6]))) {
    at = 6;
    if (at < text.size() && text[at] == '[' && at + 1 < text.size() && text[at + 1] != '\'') {
      at = std::min(text.find(']', at), text.size() - 1) + 1;
    }
  }
  std::string name;
  const auto add = [&](std::string_view part) {
    if (!part.empty()) name.append(name.empty() ? "" : "/").append(part);
  };
  while (at < text.size()) {
    if (text[at] == '\'') {
      const size_t end = std::min(text.find('\'', at + 1), text.size());
      add(text.substr(at + 1, end - at - 1));
      at = end + 1;
    } else if (is_word(text[at])) {
      size_t end = at;
      while (end < text.size() && (is_word(text[end]) || text[end] == '/')) ++end;
      add(text.substr(at, end - at));
      at = end;
    } else {
      ++at;
    }
  }
  return name;
}

std::vector<std::string> name_metrics(const plan::Plan& plan, const std::vector<int>& results) {
  std::vector<std::string> names;
  std::map<std::string, int> uses;
  for (int result : results) {
    names.push_back(metric_name(plan.results(result).name()));
    ++uses[names.back()];
  }
  const bool single = uses[""] == 1 && uses["loss"] == 0;
  for (size_t i = 0; i < names.size(); ++i) {
    std::string& name = names[i];
    if (name.empty() && single) {
      name = "loss";
    } else if (name.empty() || name == "step" || uses[name] > 1) {
      name = fmt::format("result[{}]{}{}", results[i], name.empty() ? "" : "/", name);
    }
  }
  return names;
}

std::string metrics_line(int64_t step, const std::vector<std::string>& names,
                         const std::vector<double>& values) {
  nlohmann::ordered_json line{{"step", step}};
  for (size_t i = 0; i < names.size(); ++i) line[names[i]] = number(values[i]);
  return line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace spmd
