#include "support/strings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace spmd {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  // A word that shares nothing with another is none of its misspellings.
  size_t best_distance = std::min(std::max<size_t>(2, word.size() / 3) + 1, word.size());
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string with_thousands(long long value) {
  std::string digits = std::to_string(std::llabs(value));
  for (int at = static_cast<int>(digits.size()) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<size_t>(at), ",");
  }
  return value < 0 ? "-" + digits : digits;
}

std::string human_duration(int64_t seconds) {
  const auto in = [&](int64_t unit, const char* name) {
    return fmt::format("{} {}{}", seconds / unit, name, seconds / unit == 1 ? "" : "s");
  };
  if (seconds < 60) return fmt::format("{} s", std::max<int64_t>(seconds, 0));
  if (seconds < 60 * 60) return in(60, "minute");
  if (seconds < 48 * 60 * 60) return in(60 * 60, "hour");
  return in(24 * 60 * 60, "day");
}

std::string human_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (std::fabs(bytes) >= 1024 && unit < 5) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} {}", bytes, kUnits[0])
                   : fmt::format("{:.1f} {}", bytes, kUnits[unit]);
}

}  // namespace spmd
