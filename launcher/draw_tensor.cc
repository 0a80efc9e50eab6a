#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>
#include <thread>
#include <vector>

#include "launcher/inputs.h"
#include "support/float_formats.h"
#include "support/names.h"

namespace spmd {
namespace {

constexpr double kDeviation = 0.02;

// Words of names under which optimizers keep moments and counters.
bool starts_at_zero(const std::string& name) {
  static const std::set<std::string> kWords = {"mu",       "nu",       "trace", "count", "step",
                                               "momentum", "velocity", "m",     "v",     "moments"};
  for (const std::string& word : words_of(name)) {
    if (kWords.count(word) > 0) return true;
  }
  return false;
}

// The finaliser of MurmurHash3: spreads a counter over 64 bits.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 33)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33);
}

double uniform(uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53; }

// Box and Muller 1958.
double normal(uint64_t seed, uint64_t index) {
  const double a = uniform(mix(seed + 2 * index)), b = uniform(mix(seed + 2 * index + 1));
  return std::sqrt(-2 * std::log(a)) * std::cos(2 * std::numbers::pi * b);
}

void store(plan::DType dtype, double value, std::byte* to) {
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof(element)); };
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case plan::F64:
      return put(value);
    case plan::F32:
      return put(narrow);
    case plan::BF16:
      return put(float_to_bf16(narrow));
    case plan::F16:
      return put(float_to_f16(narrow));
    default:  // integers and everything else: zero, as it is
      return;
  }
}

// work(begin, end) for parts of [0, count) that threads share; of large counts only.
template <typename Work>
void in_parts(int64_t count, const Work& work) {
  constexpr int64_t kLeast = 1 << 20;
  const int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t parts = std::clamp<int64_t>(count / kLeast, 1, cores);
  std::vector<std::thread> threads;
  for (int64_t p = 1; p < parts; ++p)
    threads.emplace_back(work, count * p / parts, count * (p + 1) / parts);
  work(0, count / parts);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

Tensor draw_tensor(const std::string& name, const plan::Placement& placement) {
  Tensor tensor{placement.dtype(), plan::dims_of(placement.global_shape()), {}};
  const int64_t bytes = plan::byte_size(tensor.dtype);
  const int64_t count = tensor.view().num_elements();
  tensor.bytes.resize(static_cast<size_t>(count * bytes));
  if (!plan::is_float(tensor.dtype) || starts_at_zero(name)) return tensor;
  uint64_t seed = 0;
  for (char c : name) seed = mix(seed * 31 + static_cast<unsigned char>(c));
  in_parts(count, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      store(tensor.dtype, kDeviation * normal(seed, static_cast<uint64_t>(i)),
            tensor.bytes.data() + i * bytes);
    }
  });
  return tensor;
}

}  // namespace spmd
