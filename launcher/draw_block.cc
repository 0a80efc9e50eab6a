#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <set>
#include <system_error>
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

struct Row {
  int64_t global, local, count;
};

// All of one length: rows that follow each other in both tensors are one.
std::vector<Row> rows_of(const plan::Placement& placement, const LocalBlock& block) {
  std::vector<Row> rows;
  for_each_row(placement, block, [&](int64_t global, int64_t local, int64_t count) {
    Row* last = rows.empty() ? nullptr : &rows.back();
    if (last && last->global + last->count == global && last->local + last->count == local)
      last->count += count;
    else
      rows.push_back({global, local, count});
  });
  return rows;
}

// work(begin, end) for parts of [0, count) that threads share; of large counts only. Parts that the
// machine starts no thread for are this thread's.
template <typename Work>
void in_parts(int64_t count, const Work& work) {
  constexpr int64_t kLeast = 1 << 20;
  const int64_t cores = std::max<int64_t>(std::thread::hardware_concurrency(), 1);
  const int64_t parts = std::clamp<int64_t>(count / kLeast, 1, cores);
  std::vector<std::thread> threads;
  threads.reserve(static_cast<size_t>(parts));
  int64_t begun = 1;
  try {
    for (; begun < parts; ++begun)
      threads.emplace_back(work, count * begun / parts, count * (begun + 1) / parts);
  } catch (const std::system_error&) {
    work(count * begun / parts, count);
  }
  work(0, count / parts);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

void draw_block(const std::string& name, const plan::Placement& placement, const LocalBlock& block,
                std::byte* local) {
  const plan::DType dtype = placement.dtype();
  if (!plan::is_float(dtype) || starts_at_zero(name)) return;
  uint64_t seed = 0;
  for (char c : name) seed = mix(seed * 31 + static_cast<unsigned char>(c));
  const std::vector<Row> rows = rows_of(placement, block);
  if (rows.empty()) return;
  const int64_t bytes = plan::byte_size(dtype), columns = rows[0].count;
  in_parts(static_cast<int64_t>(rows.size()) * columns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Row& row = rows[static_cast<size_t>(i / columns)];
      const int64_t column = i % columns;
      const double value = kDeviation * normal(seed, static_cast<uint64_t>(row.global + column));
      store(dtype, value, local + (row.local + column) * bytes);
    }
  });
}

}  // namespace spmd
