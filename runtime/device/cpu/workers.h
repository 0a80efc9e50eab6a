// Threads of one rank that share a step's work.
//
// Work is cut into parts, and part i is always done by thread i, the calling one being thread 0:
// what a thread has made for its part (libraries keep scratch memory by thread) it uses again.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <thread>
#include <vector>

namespace spmd::cpu {

class Workers {
 public:
  // `threads` in all; the calling thread is one of them. As many as the system lets start.
  explicit Workers(int threads);
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  int threads() const { return 1 + static_cast<int>(threads_.size()); }

  // Calls part(i) for every i in [0, parts), parts <= threads(), at the same time. Returns when all
  // have; throws what the first of them threw. From one thread at a time, and not from a part.
  template <typename Part>
  void run(int parts, const Part& part) {
    run(
        parts, [](const void* object, int i) { (*static_cast<const Part*>(object))(i); }, &part);
  }

 private:
  using Call = void (*)(const void* object, int part);

  void run(int parts, Call call, const void* object);
  void work(int number);
  void do_part(int part);

  // What is to be done; written before round_ is raised.
  Call call_ = nullptr;
  const void* object_ = nullptr;
  int parts_ = 0;
  bool stop_ = false;
  std::vector<std::exception_ptr> errors_;  // by part

  std::atomic<uint32_t> round_{0};
  std::atomic<int> missing_{0};  // threads that have not finished the round
  std::vector<std::thread> threads_;
};

}  // namespace spmd::cpu
