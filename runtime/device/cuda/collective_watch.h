// CollectiveWatch: knows which collective the GPU is in, and gives up one that lasts too long.
//
// A collective whose peer has died never ends, nor does any call that waits for the GPU: the thread
// that queues work may be held by a full queue. So the GPU writes into host memory which collective
// it begins and ends, and a thread of its own looks there. It calls nothing of the driver.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

struct WatchOptions {
  std::chrono::milliseconds limit{0};  // 0: nobody watches
  // Called on the watching thread with the message; does not return.
  std::function<void(const std::string& message)> give_up;
};

class CollectiveWatch {
 public:
  CollectiveWatch(const Gpu& gpu, int rank, WatchOptions options);
  ~CollectiveWatch();
  CollectiveWatch(const CollectiveWatch&) = delete;
  CollectiveWatch& operator=(const CollectiveWatch&) = delete;

  // A number for the collectives of an op, and of the ranks that they wait for (" 1 3").
  uint32_t add(const std::string& op, const std::string& ranks);
  // Queues that one begins and ends; `kind`, a constant, names it: "all_reduce".
  void begin(uint32_t number, const char* kind);
  void end();
  // A step begins: what came before it has ended.
  void step() { ++steps_; }
  // From now on; all numbers have been given.
  void start();

  // Why nobody watches although `options` ask for it; empty: somebody does.
  const std::string& obstacle() const { return obstacle_; }

 private:
  struct Op {
    std::string name, ranks;
  };
  struct Call {
    std::atomic<uint32_t> number{0};
    std::atomic<const char*> kind{nullptr};
  };
  void write(uint32_t call);
  void watch();

  const Gpu& gpu_;
  int rank_;
  WatchOptions options_;
  std::vector<Op> ops_;
  // The host is never as far ahead of the GPU as this ring is long.
  std::vector<Call> calls_ = std::vector<Call>(1 << 14);
  uint32_t call_ = 0;
  uint32_t* current_ = nullptr;  // pinned: the call that the GPU is in; 0: none
  std::atomic<uint64_t> steps_{0};
  std::string obstacle_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace spmd::cuda
