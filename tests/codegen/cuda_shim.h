// Runs kernels of the CUDA dialect on the host: put before a unit, it declares what CUDA's compiler
// would. The threads of a block are fibres of one thread that take turns at barriers; blocks run
// one after the other.
#pragma once

#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#define __global__
#define __grid_constant__
#define __launch_bounds__(...)
#define __shared__ static  // blocks do not run side by side

namespace shim {

struct Index {
  unsigned x;
};

// Reusable: a fibre that arrives waits for the others.
struct Barrier {
  int arrived = 0, turn = 0;
};

class Block {
 public:
  static constexpr size_t kStack = 128 << 10;

  explicit Block(int threads)
      : threads_(threads),
        contexts_(static_cast<size_t>(threads)),
        stacks_(static_cast<size_t>(threads) * kStack),
        done_(static_cast<size_t>(threads)),
        warps_(static_cast<size_t>(threads + 31) / 32),
        exchange_(static_cast<size_t>(threads)) {}

  void run(const std::function<void()>& body);
  void wait(Barrier& barrier, int count);
  void sync() { wait(all_, threads_); }
  void sync_warp() { wait(warps_[static_cast<size_t>(current_) / 32], 32); }
  uint64_t exchange(uint64_t value, int mask);

 private:
  static void enter();
  void next();

  int threads_, current_ = 0;
  std::vector<ucontext_t> contexts_;
  std::vector<char> stacks_;
  std::vector<bool> done_;
  Barrier all_;
  std::vector<Barrier> warps_;
  std::vector<uint64_t> exchange_;
  ucontext_t main_;
  const std::function<void()>* body_ = nullptr;
};

static Block* block = nullptr;

}  // namespace shim

static shim::Index threadIdx, blockIdx, gridDim;

namespace shim {

inline void Block::enter() {
  (*block->body_)();
  block->done_[static_cast<size_t>(block->current_)] = true;
  block->next();
}

// To the next fibre that has not ended, or back to run().
inline void Block::next() {
  const int from = current_;
  for (int i = 1; i <= threads_; ++i) {
    const int to = (from + i) % threads_;
    if (done_[static_cast<size_t>(to)]) continue;
    current_ = to;
    threadIdx.x = static_cast<unsigned>(to);
    if (to != from)
      swapcontext(&contexts_[static_cast<size_t>(from)], &contexts_[static_cast<size_t>(to)]);
    return;
  }
  setcontext(&main_);
}

inline void Block::run(const std::function<void()>& body) {
  body_ = &body;
  block = this;
  for (int t = 0; t < threads_; ++t) {
    const auto i = static_cast<size_t>(t);
    done_[i] = false;
    getcontext(&contexts_[i]);
    contexts_[i].uc_stack.ss_sp = stacks_.data() + i * kStack;
    contexts_[i].uc_stack.ss_size = kStack;
    contexts_[i].uc_link = nullptr;
    makecontext(&contexts_[i], &Block::enter, 0);
  }
  current_ = 0;
  threadIdx.x = 0;
  swapcontext(&main_, &contexts_[0]);
}

inline void Block::wait(Barrier& barrier, int count) {
  const int turn = barrier.turn;
  if (++barrier.arrived == count) {
    barrier.arrived = 0;
    ++barrier.turn;
    return;
  }
  while (barrier.turn == turn) next();
}

inline uint64_t Block::exchange(uint64_t value, int mask) {
  const auto me = static_cast<size_t>(current_);
  Barrier& warp = warps_[me / 32];
  exchange_[me] = value;
  wait(warp, 32);
  const uint64_t other = exchange_[me ^ static_cast<size_t>(mask)];
  wait(warp, 32);
  return other;
}

template <typename Body>
void launch(int64_t blocks, int threads, const Body& body) {
  Block fibres(threads);
  const std::function<void()> function = body;
  gridDim.x = static_cast<unsigned>(blocks);
  for (int64_t b = 0; b < blocks; ++b) {
    blockIdx.x = static_cast<unsigned>(b);
    fibres.run(function);
  }
}

}  // namespace shim

inline void __syncthreads() { shim::block->sync(); }
inline void __syncwarp() { shim::block->sync_warp(); }
template <typename T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  bits = shim::block->exchange(bits, mask);
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
inline int __clzll(long long x) { return x == 0 ? 64 : __builtin_clzll(static_cast<uint64_t>(x)); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline double __longlong_as_double(long long bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}
