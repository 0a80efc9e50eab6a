#include "runtime/random_draw.h"

#include <algorithm>
#include <cstring>
#include <system_error>
#include <thread>
#include <vector>

#include "runtime/normal_value.h"
#include "support/float_formats.h"

namespace spmd {
namespace {

bool is_drawn_float(plan::DType dtype) {
  return dtype == plan::F64 || dtype == plan::F32 || dtype == plan::BF16 || dtype == plan::F16;
}

// How many values from 0 on an integer can have; 0: the type is no integer.
uint64_t integer_range(plan::DType dtype) {
  if (!plan::is_integer(dtype)) return 0;
  int64_t bits = 8 * plan::byte_size(dtype);
  if (dtype == plan::S4 || dtype == plan::U4) bits = 4;
  if (dtype == plan::S2 || dtype == plan::U2) bits = 2;
  if (plan::is_signed_int(dtype)) --bits;
  return bits == 64 ? UINT64_MAX : uint64_t{1} << bits;
}

// The high word of a random one times the bound: uniform but for less than bound / 2^64.
uint64_t integer_below(uint64_t bound, uint64_t seed, uint64_t index) {
  __extension__ using Wide = unsigned __int128;
  return static_cast<uint64_t>(Wide{normal::mix(seed + 2 * index)} * bound >> 64);
}

void store_integer(plan::DType dtype, uint64_t value, std::byte* to) {
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof(element)); };
  switch (plan::byte_size(dtype)) {
    case 1:
      return put(static_cast<uint8_t>(value));
    case 2:
      return put(static_cast<uint16_t>(value));
    case 4:
      return put(static_cast<uint32_t>(value));
    default:
      return put(value);
  }
}

void store_float(plan::DType dtype, double value, std::byte* to) {
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof(element)); };
  const auto narrow = static_cast<float>(value);
  switch (dtype) {
    case plan::F64:
      return put(value);
    case plan::F32:
      return put(narrow);
    case plan::BF16:
      return put(float_to_bf16(narrow));
    default:
      return put(float_to_f16(narrow));
  }
}

void store_drawn(plan::DType dtype, const RandomDraw& draw, uint64_t index, std::byte* to) {
  if (is_drawn_float(dtype))
    return store_float(dtype, draw.deviation * normal::value(draw.seed, index), to);
  const uint64_t bound = std::min(static_cast<uint64_t>(draw.bound), integer_range(dtype));
  store_integer(dtype, integer_below(bound, draw.seed, index), to);
}

struct DrawnRow {
  int64_t global, local, count;
};

// All of one length: rows that follow each other in both tensors are one.
std::vector<DrawnRow> drawn_rows(const plan::Placement& placement, const LocalBlock& block) {
  std::vector<DrawnRow> rows;
  for_each_row(placement, block, [&](int64_t global, int64_t local, int64_t count) {
    DrawnRow* last = rows.empty() ? nullptr : &rows.back();
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
  constexpr int64_t kLeast = 1 << 18;
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

bool draws_values(const RandomDraw& draw, plan::DType dtype) {
  if (is_drawn_float(dtype)) return draw.deviation != 0;
  return draw.bound > 1 && integer_range(dtype) > 0;
}

void draw_block(const RandomDraw& draw, const plan::Placement& placement, const LocalBlock& block,
                std::byte* local) {
  const plan::DType dtype = placement.dtype();
  if (!draws_values(draw, dtype)) return;
  const std::vector<DrawnRow> rows = drawn_rows(placement, block);
  if (rows.empty()) return;
  const int64_t bytes = plan::byte_size(dtype), columns = rows[0].count;
  in_parts(static_cast<int64_t>(rows.size()) * columns, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end;) {
      const DrawnRow& row = rows[static_cast<size_t>(i / columns)];
      const int64_t first = i % columns, count = std::min(columns - first, end - i);
      for (int64_t c = first; c < first + count; ++c)
        store_drawn(dtype, draw, static_cast<uint64_t>(row.global + c),
                    local + (row.local + c) * bytes);
      i += count;
    }
  });
}

}  // namespace spmd
