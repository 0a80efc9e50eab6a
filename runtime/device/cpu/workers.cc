#include "runtime/device/cpu/workers.h"

#include <algorithm>
#include <chrono>
#include <exception>

#include "runtime/device/cpu/gemm.h"
#include "support/error.h"

namespace spmd::cpu {
namespace {

// How long a thread looks for what it waits for before it lets the system wake it, which takes
// longer than most steps do.
constexpr auto kSpin = std::chrono::microseconds(200);
// Looks between two at the clock; after each the thread lets others have its core.
constexpr int kLooks = 500;

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Waits until `value` is no longer `old`.
template <typename T>
void wait_for_change(const std::atomic<T>& value, T old) {
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < kLooks; ++i) {
      if (value.load(std::memory_order_acquire) != old) return;
      pause();
    }
    std::this_thread::yield();
  } while (std::chrono::steady_clock::now() < end);
  value.wait(old, std::memory_order_acquire);
}

}  // namespace

Workers::Workers(int threads) {
  errors_.resize(static_cast<size_t>(std::max(threads, 1)));
  threads_.reserve(errors_.size());
  for (int number = 1; number < threads; ++number) {
    try {
      threads_.emplace_back([this, number] { work(number); });
    } catch (const std::exception&) {
      break;  // too many threads, or too little memory
    }
  }
}

Workers::~Workers() {
  stop_ = true;
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::run(int parts, Call call, const void* object) {
  SPMD_CHECK(parts <= threads(), "{} parts for {} threads", parts, threads());
  call_ = call;
  object_ = object;
  parts_ = parts;
  const bool alone = parts <= 1;
  if (!alone) {
    missing_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
    round_.fetch_add(1, std::memory_order_release);
    round_.notify_all();
  }
  do_part(0);
  if (!alone) {
    int missing;
    while ((missing = missing_.load(std::memory_order_acquire)) != 0)
      wait_for_change(missing_, missing);
  }
  std::exception_ptr first;
  for (std::exception_ptr& error : errors_) {
    if (error && !first) first = error;
    error = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void Workers::do_part(int part) {
  if (part >= parts_) return;
  try {
    call_(object_, part);
  } catch (...) {
    errors_[static_cast<size_t>(part)] = std::current_exception();
  }
}

void Workers::work(int number) {
  use_one_library_thread();
  for (uint32_t done = 0;; ++done) {
    wait_for_change(round_, done);
    if (stop_) return;
    do_part(number);
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) missing_.notify_one();
  }
}

}  // namespace spmd::cpu
