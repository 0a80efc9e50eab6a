#include "launcher/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "support/strings.h"

namespace spmd {
namespace {

constexpr int64_t kMostCount = int64_t{1} << 50;
constexpr double kMostSeconds = 1e6;

// "a, b or c"
std::string join_words(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i)
    text += fmt::format("{}{}", i == 0 ? "" : i + 1 == words.size() ? " or " : ", ", words[i]);
  return text;
}

template <typename Number>
std::optional<Number> number_in(const std::string& text) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// Sets one kind of field; returns what is expected where `text` is not that.
struct Setter {
  const Setting& setting;
  const std::string& text;
  RunConfig& config;

  std::string operator()(TextField field) const {
    const std::vector<std::string>& words = setting.words;
    if (words.empty() && text.empty()) return "a path";
    if (!words.empty() && std::find(words.begin(), words.end(), text) == words.end())
      return join_words(words);
    (config.*field) = text;
    return "";
  }
  std::string operator()(CountField field) const {
    const auto value = number_in<int64_t>(text);
    if (!value || *value < 1)
      return fmt::format("a number of {} of at least 1", split_key(setting.key).second);
    if (*value > kMostCount) return fmt::format("at most {}", kMostCount);
    (config.*field) = *value;
    return "";
  }
  std::string operator()(SecondsField field) const {
    const auto value = number_in<double>(text);
    if (!value || !(*value > 0) || !(*value <= kMostSeconds))
      return fmt::format("seconds: more than 0, at most {:.0f}", kMostSeconds);
    (config.*field) = *value;
    return "";
  }
  std::string operator()(ListField field) const {
    (config.*field).push_back(text);
    return "";
  }
};

}  // namespace

std::span<const Setting> settings() {
  using C = RunConfig;
  static const std::vector<Setting> kSettings = {
      {"state", "--state", &C::state, {}, "state.safetensors"},
      {"init", "--init", &C::init, {"random"}},
      {"batches", "--batches", &C::batches, {}, "batches.safetensors"},
      {"train.steps", "--steps", &C::steps, {}, "4"},
      {"out", "--out", &C::out, {}, "final.safetensors"},
      {"report", "--report", &C::report, {}, "report"},
      {"check", "--check", &C::expected, {}, "expected.safetensors"},
      {"tolerances", "--tolerances", &C::tolerances, {}, "tolerances.json"},
      {"set-dim", "--set-dim", &C::dims, {}, "batch=8", "", /*of_check=*/true},
      {"set-input", "--set-input", &C::inputs, {}, "shape=[2,3]", "", /*of_check=*/true},
      {"save-plan", "--save-plan", &C::save_plan, {}, "step.plan"},
      {"device", "--device", &C::device, {"cpu", "cuda", "auto"}, "", "auto"},
      {"threads", "--threads", &C::threads, {}, "8"},
      {"codegen", "--codegen", &C::codegen, {"auto", "off"}, "", "auto"},
      {"cache-dir", "--cache-dir", &C::cache_dir, {}, "cache"},
      {"explain", "--explain", &C::explain, {"fusion"}},
      {"watchdog", "--watchdog", &C::watchdog, {}, "20", "20"},
      {"compile-budget", "--compile-budget", &C::compile_budget, {}, "20"},
      {"cuda-graphs", "--cuda-graphs", &C::cuda_graphs, {"auto", "on", "off"}, "", "auto"},
      {"log.every", "", &C::log_every, {}, "10"},
      {"log.jsonl", "", &C::log_jsonl, {}, "metrics.jsonl"},
      {"log.progress", "", &C::log_progress, {"auto", "on", "off"}, "", "auto"},
  };
  return kSettings;
}

std::pair<std::string_view, std::string_view> split_key(std::string_view key) {
  const size_t dot = key.find('.');
  if (dot == std::string_view::npos) return {"", key};
  return {key.substr(0, dot), key.substr(dot + 1)};
}

std::optional<SettingFault> set_value(const Setting& setting, const std::string& text,
                                      std::string_view name, RunConfig& config) {
  const std::string expected = std::visit(Setter{setting, text, config}, setting.field);
  if (expected.empty()) return std::nullopt;
  const std::string fact = fmt::format("found \"{}\", expected {}", text, expected);
  if (const auto near = nearest(text, setting.words))
    return SettingFault{fact, fmt::format("did you mean {}{}?", name, *near)};
  const std::string_view example =
      setting.words.empty() ? setting.example : std::string_view(setting.words[0]);
  return SettingFault{fact, fmt::format("for example: {}{}", name, example)};
}

std::vector<std::string> values_of(const Setting& setting, const RunConfig& config) {
  return std::visit(
      [&](auto field) -> std::vector<std::string> {
        const auto& value = config.*field;
        if constexpr (std::is_same_v<decltype(field), ListField>) {
          return value;
        } else {
          if (!value) return {};
          return {fmt::format("{}", *value)};
        }
      },
      setting.field);
}

void override_setting(const Setting& setting, const RunConfig& flags, RunConfig& config) {
  std::visit(
      [&](auto field) {
        const auto& from = flags.*field;
        auto& to = config.*field;
        if constexpr (std::is_same_v<decltype(field), ListField>) {
          to.insert(to.end(), from.begin(), from.end());
        } else {
          if (from) to = from;
        }
      },
      setting.field);
}

}  // namespace spmd
