// rng_bit_generator: threefry-2x32 and philox-4x32 (Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3"), with counters laid over elements as XLA does.
#include <array>
#include <bit>
#include <cstring>

#include "runtime/device/cpu/indexing.h"
#include "runtime/device/cpu/packer.h"

namespace spmd::cpu {
namespace {

uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint64_t joined(uint32_t low_word, uint32_t high_word) {
  return low_word | static_cast<uint64_t>(high_word) << 32;
}

std::array<uint32_t, 2> threefry(uint64_t counter, uint64_t key_word) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t key[3] = {low(key_word), high(key_word),
                           0x1BD11BDAu ^ low(key_word) ^ high(key_word)};
  uint32_t x = low(counter) + key[0], y = high(counter) + key[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x += y;
      y = std::rotl(y, rotation) ^ x;
    }
    x += key[(group + 1) % 3];
    y += key[(group + 2) % 3] + group + 1;
  }
  return {x, y};
}

std::array<uint32_t, 4> philox(uint64_t lower, uint64_t upper, uint64_t key_word) {
  std::array<uint32_t, 4> x = {low(lower), high(lower), low(upper), high(upper)};
  uint32_t key0 = low(key_word), key1 = high(key_word);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{x[0]} * 0xD2511F53u, b = uint64_t{x[2]} * 0xCD9E8D57u;
    x = {high(b) ^ x[1] ^ key0, low(b), high(a) ^ x[3] ^ key1, low(a)};
    key0 += 0x9E3779B9u;
    key1 += 0xBB67AE85u;
  }
  return x;
}

class RngKernel : public Kernel {
 public:
  RngKernel(const plan::RngBitGenerator& step, LoadContext& context)
      : threefry_(step.algorithm() == plan::RngBitGenerator::THREE_FRY),
        state_(step.state()),
        state_out_(step.state_out()),
        out_(step.out()),
        count_(plan::element_count(step.out().shape())),
        copy_(out_.shape, out_.strides, row_major(out_.shape), out_.element_bytes) {
    find_halves();
    context.need_workspace(count_ * out_.element_bytes);
  }

  void run(const RunContext& context) override {
    uint64_t state[3] = {0, 0, 0};
    for (size_t i = 0; i < words(); ++i)
      std::memcpy(&state[i], word(state_, context, i), sizeof state[i]);
    bits_ = context.workspace;
    if (!threefry_) {
      fill_philox(state);
    } else if (out_.element_bytes == 8) {
      for (int64_t i = 0; i < count_; ++i) {
        const auto pair = threefry(state[1]++, state[0]);
        put(i, joined(pair[0], pair[1]));
      }
    } else {
      fill_threefry(state);
    }
    for (size_t i = 0; i < words(); ++i)
      std::memcpy(word(state_out_, context, i), &state[i], sizeof state[i]);
    copy_.run(out_.data(context), bits_);
  }

 private:
  size_t words() const { return static_cast<size_t>(state_.shape[0]); }
  static std::byte* word(const BoundView& view, const RunContext& context, size_t i) {
    return view.data(context) + static_cast<int64_t>(i) * view.strides[0] * view.element_bytes;
  }

  void put(int64_t element, uint64_t word) {
    if (out_.dtype == plan::U2) word &= 3;
    if (out_.dtype == plan::U4) word &= 15;
    if (out_.dtype == plan::S2) word = ((word & 3) ^ 2) - 2;
    if (out_.dtype == plan::S4) word = ((word & 15) ^ 8) - 8;
    std::memcpy(bits_ + element * out_.element_bytes, &word,
                static_cast<size_t>(out_.element_bytes));
  }

  // Two neighbours along one dimension share a counter: the first dimension of even size, else the
  // largest.
  void find_halves() {
    const std::vector<int64_t>& shape = out_.shape;
    size_t split = shape.size();
    for (size_t d = shape.size(); d-- > 0;)
      if (shape[d] % 2 == 0) split = d;
    if (split == shape.size())
      for (size_t d = 0; d < shape.size(); ++d)
        if (split == shape.size() || shape[d] > shape[split]) split = d;
    for (size_t d = 0; d < shape.size(); ++d)
      (d < split ? outer_ : d == split ? size_ : inner_) *= shape[d];
  }

  void fill_threefry(uint64_t* state) {
    const int64_t half = (size_ + 1) / 2;
    uint64_t counter = state[1];
    for (int64_t o = 0; o < outer_; ++o)
      for (int64_t h = 0; h < half; ++h)
        for (int64_t r = 0; r < inner_; ++r) {
          const auto pair = threefry(counter++, state[0]);
          const int64_t first = (o * size_ + 2 * h) * inner_ + r;
          put(first, pair[0]);
          if (2 * h + 1 < size_) put(first + inner_, pair[1]);
        }
    state[1] = counter;
  }

  // Without a third word the key serves as the counter's upper half.
  void fill_philox(uint64_t* state) {
    const bool wide = out_.element_bytes == 8;
    const int64_t per_block = wide ? 2 : 4;
    const uint64_t first = state[1], upper = words() > 2 ? state[2] : state[0];
    const auto blocks = static_cast<uint64_t>((count_ + per_block - 1) / per_block);
    for (uint64_t block = 0; block < blocks; ++block) {
      const uint64_t lower = first + block;
      const auto x = philox(lower, upper + (lower < first ? 1 : 0), state[0]);
      for (int64_t k = 0; k < per_block; ++k) {
        const int64_t element = static_cast<int64_t>(block) * per_block + k;
        if (element >= count_) break;
        const auto i = static_cast<size_t>(k);
        put(element, wide ? joined(x[2 * i], x[2 * i + 1]) : x[i]);
      }
    }
    state[1] = first + blocks;
    if (words() > 2 && state[1] < first) ++state[2];
  }

  bool threefry_;
  BoundView state_, state_out_, out_;
  int64_t count_;
  BoxCopy copy_;
  int64_t outer_ = 1, size_ = 1, inner_ = 1;
  std::byte* bits_ = nullptr;
};

}  // namespace

KernelPtr make_rng_bit_generator(const plan::RngBitGenerator& step, LoadContext& context) {
  return std::make_unique<RngKernel>(step, context);
}

}  // namespace spmd::cpu
