// rng_bit_generator: the counter-based generators of Salmon et al., "Parallel random numbers: as
// easy as 1, 2, 3" (2011), arranged over elements as XLA does. The state is a key and a counter in
// 64-bit words. kDefault is Philox, as on XLA's CPU.
#include <array>
#include <bit>
#include <cstring>

#include "ir/eval/elements.h"
#include "ir/eval/eval.h"

namespace spmd::eval {
namespace {

using Words = std::vector<uint64_t>;

uint32_t low(uint64_t word) { return static_cast<uint32_t>(word); }
uint32_t high(uint64_t word) { return static_cast<uint32_t>(word >> 32); }
uint64_t joined(uint32_t low_word, uint32_t high_word) {
  return low_word | static_cast<uint64_t>(high_word) << 32;
}

// Threefry-2x32 with 20 rounds.
std::array<uint32_t, 2> threefry(std::array<uint32_t, 2> x, uint64_t key_word) {
  constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
  const uint32_t key[3] = {low(key_word), high(key_word),
                           0x1BD11BDAu ^ low(key_word) ^ high(key_word)};
  x[0] += key[0];
  x[1] += key[1];
  for (uint32_t group = 0; group < 5; ++group) {
    for (int rotation : kRotations[group % 2]) {
      x[0] += x[1];
      x[1] = std::rotl(x[1], rotation) ^ x[0];
    }
    x[0] += key[(group + 1) % 3];
    x[1] += key[(group + 2) % 3] + group + 1;
  }
  return x;
}

// Philox-4x32 with 10 rounds.
std::array<uint32_t, 4> philox(std::array<uint32_t, 4> x, uint64_t key_word) {
  std::array<uint32_t, 2> key = {low(key_word), high(key_word)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t{x[0]} * 0xD2511F53u, b = uint64_t{x[2]} * 0xCD9E8D57u;
    x = {high(b) ^ x[1] ^ key[0], low(b), high(a) ^ x[3] ^ key[1], low(a)};
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return x;
}

// 32 random bits per element (in 64-bit words). The elements are halved along one dimension: the
// first of even size, else the largest. Each pair of neighbours along it shares one counter.
Words threefry_32(Words& state, const Dims& shape) {
  size_t split = shape.size();
  for (size_t d = 0; d < shape.size() && split == shape.size(); ++d) {
    if (shape[d] % 2 == 0) split = d;
  }
  if (split == shape.size()) {
    for (size_t d = 0; d < shape.size(); ++d) {
      if (split == shape.size() || shape[d] > shape[split]) split = d;
    }
  }
  int64_t outer = 1, size = 1, inner = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    (d < split ? outer : d == split ? size : inner) *= shape[d];
  }
  const int64_t half = (size + 1) / 2;
  Words bits(static_cast<size_t>(outer * size * inner));
  for (int64_t i = 0; i < outer * half * inner; ++i) {
    const int64_t o = i / (half * inner), h = i / inner % half, r = i % inner;
    const uint64_t counter = state[1] + static_cast<uint64_t>(i);
    const auto pair = threefry({low(counter), high(counter)}, state[0]);
    for (int64_t p = 0; p < 2 && 2 * h + p < size; ++p) {
      bits[static_cast<size_t>((o * size + 2 * h + p) * inner + r)] = pair[static_cast<size_t>(p)];
    }
  }
  state[1] += static_cast<uint64_t>(outer * half * inner);
  return bits;
}

Words threefry_64(Words& state, int64_t count) {
  Words bits(static_cast<size_t>(count));
  for (uint64_t& word : bits) {
    const auto pair = threefry({low(state[1]), high(state[1])}, state[0]);
    word = joined(pair[0], pair[1]);
    ++state[1];
  }
  return bits;
}

// Blocks of four 32-bit words. The 128-bit counter is words 1 and 2 of the state; when there is no
// word 2 the key serves as the counter's upper half.
Words philox_bits(Words& state, int64_t count, bool wide) {
  const int64_t per_block = wide ? 2 : 4;
  const uint64_t upper = state.size() > 2 ? state[2] : state[0];
  const auto blocks = static_cast<uint64_t>((count + per_block - 1) / per_block);
  Words bits;
  for (uint64_t i = 0; i < blocks; ++i) {
    const uint64_t lower = state[1] + i;
    const uint64_t carried = upper + (lower < state[1] ? 1 : 0);
    const auto x = philox({low(lower), high(lower), low(carried), high(carried)}, state[0]);
    if (wide) {
      bits.insert(bits.end(), {joined(x[0], x[1]), joined(x[2], x[3])});
    } else {
      bits.insert(bits.end(), x.begin(), x.end());
    }
  }
  const uint64_t next = state[1] + blocks;
  if (state.size() > 2 && next < state[1]) ++state[2];
  state[1] = next;
  bits.resize(static_cast<size_t>(count));
  return bits;
}

}  // namespace

Literals eval_rng_bit_generator(const Invocation& in) {
  const Literal initial = in.operands[0].expanded();
  const TensorType& type = in.result_type(1);
  const bool is_threefry = in.attrs<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  if (!is_float(type.dtype) && !is_integer(type.dtype)) {
    throw UserError(place_of(in.op), fmt::format("random bits of type {}", to_string(type)),
                    "integers and floats can be made of bits");
  }
  const size_t words = initial.stored_bytes() / 8;
  if (initial.stored_bytes() % 8 != 0 || words < 2 || words > (is_threefry ? 2 : 3)) {
    throw UserError(place_of(in.op), fmt::format("the state is {}", to_string(initial.type())),
                    is_threefry ? "threefry needs tensor<2xui64>"
                                : "philox needs tensor<2xui64> or tensor<3xui64>");
  }
  Words state(words);
  std::memcpy(state.data(), initial.data(), initial.stored_bytes());

  const int64_t count = type.num_elements();
  const int64_t size = byte_size(type.dtype);
  const bool wide = size == 8;
  const Words bits = !is_threefry ? philox_bits(state, count, wide)
                     : wide       ? threefry_64(state, count)
                                  : threefry_32(state, type.shape);
  Literal result(type);
  std::byte* to = result.mutable_data();
  for (int64_t i = 0; i < count; ++i) {
    uint64_t word = bits[static_cast<size_t>(i)];
    if (bit_width(type.dtype) == 4) {
      word = static_cast<uint64_t>(wrap_to(type.dtype, static_cast<int8_t>(word)));
    }
    std::memcpy(to + i * size, &word, static_cast<size_t>(size));
  }
  Literal next(initial.type());
  std::memcpy(next.mutable_data(), state.data(), initial.stored_bytes());
  return {std::move(next), std::move(result)};
}

}  // namespace spmd::eval
