// Reproducible random choices: the engine is fixed by the C++ standard, and so are these.
#pragma once

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace spmd::testing {

class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed * 0x9e3779b97f4a7c15ULL + 1) {}

  int64_t below(int64_t bound) {
    return static_cast<int64_t>(engine_() % static_cast<uint64_t>(bound));
  }
  int64_t pick(int64_t low, int64_t high) { return low + below(high - low + 1); }  // both included
  bool chance(int percent) { return below(100) < percent; }
  template <typename T>
  T of(const std::vector<T>& choices) {
    return choices[static_cast<size_t>(below(static_cast<int64_t>(choices.size())))];
  }
  template <typename T>
  void shuffle(std::vector<T>& items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(below(static_cast<int64_t>(i)))]);
    }
  }

 private:
  std::mt19937_64 engine_;
};

}  // namespace spmd::testing
