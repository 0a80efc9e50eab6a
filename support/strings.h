// Small string helpers that the standard library lacks.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

// The candidate nearest to `word` by edit distance, if near enough to be a likely misspelling.
std::optional<std::string> nearest(std::string_view word,
                                   const std::vector<std::string>& candidates);

// "1,234,567"
std::string with_thousands(long long value);

// "40 s", "3 minutes", "5 hours", "12 days": of seconds, in whole units.
std::string human_duration(int64_t seconds);

// "12.3 MiB"
std::string human_bytes(double bytes);

}  // namespace spmd
