#include "launcher/expectation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "launcher/text_table.h"
#include "runtime/io/mapped_file.h"
#include "support/error.h"
#include "support/printable.h"
#include "support/strings.h"

namespace spmd {
namespace {

constexpr double kPerElement = 1e-7;
constexpr size_t kRowsShown = 10;

double at(const TensorView& tensor, int64_t i) {
  return element_as_double(tensor.dtype, tensor.data + i * plan::byte_size(tensor.dtype));
}

// 0 where both are the same, infinite where only one is a number.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  const double d = std::fabs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

double positive(const nlohmann::json& value, const std::string& path, const std::string& key) {
  if (value.is_number() && value.get<double>() >= 0) return value.get<double>();
  throw UserError(path, fmt::format("\"{}\" is not a number of at least 0", key),
                  fmt::format("write how far it may differ: {{\"{}\": 1e-3}}", key));
}

double worst(const std::vector<Comparison::Row>& rows, double Comparison::Row::*field) {
  double value = 0;
  for (const Comparison::Row& row : rows) value = std::max(value, row.*field);
  return value;
}

void add_rows(TextTable& table, std::vector<Comparison::Row> rows) {
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.deviation > b.deviation; });
  for (size_t i = 0; i < std::min(rows.size(), kRowsShown); ++i) {
    table.add({rows[i].name, fmt::format("{:.3g}", rows[i].difference),
               fmt::format("{:.3g}", rows[i].deviation),
               rows[i].note + (rows[i].deviation > 1 ? " DIFFERS" : "")});
  }
}

// "a, b, c and 4 more"
std::string some_of(const std::vector<std::string>& names) {
  constexpr size_t kNamed = 3;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kNamed); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  return names.size() <= kNamed ? text : fmt::format("{} and {} more", text, names.size() - kNamed);
}

// What the verdict is not about: " (metrics only)", " (3 of 14 not compared)".
std::string reach(const Comparison& comparison) {
  if (!comparison.state_skipped.empty()) return " (metrics only)";
  const size_t without = comparison.without_expectation.size();
  if (without == 0) return "";
  return fmt::format(" ({} of {} not compared)", without,
                     without + comparison.metrics.size() + comparison.state.size());
}

}  // namespace

double Tolerances::of(const std::string& tensor) const {
  const auto it = tensors.find(tensor);
  return it == tensors.end() ? state : it->second;
}

Tolerances read_tolerances(const std::string& path) {
  const MappedFile file(path);
  const auto* text = reinterpret_cast<const char*>(file.data());
  const auto json = nlohmann::json::parse(text, text + file.size(), nullptr, false);
  if (!json.is_object()) {
    throw UserError(path, "is not a JSON object",
                    R"(expected, for example: {"metrics": 2e-5, "state": 1e-3})");
  }
  Tolerances tolerances;
  for (const auto& [key, value] : json.items()) {
    if (key == "metrics") {
      tolerances.metrics = positive(value, path, key);
    } else if (key == "state") {
      tolerances.state = positive(value, path, key);
    } else if (key == "tensors" && value.is_object()) {
      for (const auto& [name, tolerance] : value.items()) {
        tolerances.tensors[name] = positive(tolerance, path, name);
      }
    } else {
      const auto near = nearest(key, {"metrics", "state", "tensors"});
      throw UserError(path, fmt::format("unknown key \"{}\"", key),
                      near ? fmt::format("did you mean \"{}\"?", *near)
                           : "known are metrics, state and tensors");
    }
  }
  return tolerances;
}

void check_tolerance_names(const Tolerances& tolerances, const std::string& path,
                           const std::vector<std::string>& tensors, const std::string& reference) {
  for (const auto& [name, tolerance] : tolerances.tensors) {
    if (std::find(tensors.begin(), tensors.end(), name) != tensors.end()) continue;
    const auto near = nearest(name, tensors);
    throw UserError(path,
                    fmt::format("\"tensors\": {} has no state tensor \"{}\"", reference, name),
                    near              ? fmt::format("did you mean \"{}\"?", *near)
                    : tensors.empty() ? "it has none at all: leave \"tensors\" out"
                                      : fmt::format("it has {}", some_of(tensors)));
  }
}

double Comparison::worst_metric() const { return worst(metrics, &Row::difference); }
double Comparison::worst_state() const { return worst(state, &Row::deviation); }
bool Comparison::passed() const {
  return worst(metrics, &Row::deviation) <= 1 && worst_state() <= 1;
}

Comparison::Row compare_metric(const std::string& name, const std::vector<double>& values,
                               const TensorView& expected, const Tolerances& tolerances) {
  Comparison::Row row{name};
  for (size_t step = 0; step < values.size(); ++step) {
    const double e = at(expected, static_cast<int64_t>(step));
    const double d = distance(values[step], e);
    const double difference = d == 0 ? 0 : d / std::max(std::fabs(e), 1e-30);
    if (step > 0 && difference <= row.difference) continue;
    row.difference = difference;
    row.note = fmt::format("step {}: {:.9g}, expected {:.9g}", step, values[step], e);
  }
  row.deviation = row.difference == 0 ? 0 : row.difference / tolerances.metrics;
  return row;
}

Comparison::Row compare_state(const std::string& name, const TensorView& actual,
                              const TensorView& expected, const Tolerances& tolerances) {
  double difference = 0, norm = 0;
  const int64_t count = expected.num_elements();
  for (int64_t i = 0; i < count; ++i) {
    const double e = at(expected, i), d = distance(at(actual, i), e);
    difference += d * d;
    norm += std::isfinite(e) ? e * e : 0;
  }
  difference = std::sqrt(difference);
  norm = std::sqrt(norm);
  const double allowed = tolerances.of(name) * norm + kPerElement * std::sqrt(count);
  return {name, difference == 0 ? 0 : difference / std::max(norm, 1e-30),
          difference == 0 ? 0 : difference / allowed, ""};
}

std::string to_string(const Comparison& comparison, const std::string& expected_path) {
  TextTable table({"compared", ">difference", ">of allowed", ""});
  add_rows(table, comparison.metrics);
  add_rows(table, comparison.state);
  std::string text = table.to_string();
  if (comparison.state.size() > kRowsShown) {
    text += fmt::format("  ... and {} tensors that deviate less\n",
                        comparison.state.size() - kRowsShown);
  }
  if (!comparison.state_skipped.empty()) {
    text += fmt::format("  state: not compared: {}\n", comparison.state_skipped);
  }
  if (!comparison.without_expectation.empty()) {
    text += fmt::format("  not compared, as nothing is expected of them: {}\n",
                        some_of(comparison.without_expectation));
  }
  return printable(fmt::format("{}check against {}: {}{}\n", text, expected_path,
                               comparison.passed() ? "passed" : "FAILED", reach(comparison)));
}

}  // namespace spmd
