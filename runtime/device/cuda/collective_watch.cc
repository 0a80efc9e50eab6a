#include "runtime/device/cuda/collective_watch.h"

#include "collectives/comm/termination.h"
#include "collectives/comm/waiting.h"
#include "support/thread.h"

namespace spmd::cuda {
namespace {

constexpr std::chrono::milliseconds kLook{50};

}  // namespace

CollectiveWatch::CollectiveWatch(const Gpu& gpu, int rank, WatchOptions options)
    : gpu_(gpu), rank_(rank), options_(std::move(options)) {
  if (options_.limit.count() == 0) return;
  void* memory = nullptr;
  gpu_.check(gpu_.driver().MemHostAlloc(&memory, sizeof(uint32_t), CU_MEMHOSTALLOC_PORTABLE),
             "allocating host memory");
  current_ = static_cast<uint32_t*>(memory);
  *current_ = 0;
}

CollectiveWatch::~CollectiveWatch() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (current_ != nullptr) gpu_.driver().MemFreeHost(current_);
}

uint32_t CollectiveWatch::add(const std::string& op, const std::string& ranks) {
  ops_.push_back({op, ranks});
  return static_cast<uint32_t>(ops_.size() - 1);
}

// Memory of the host that is pinned has one address on both sides.
void CollectiveWatch::write(uint32_t call) {
  if (!obstacle_.empty()) return;
  const CUresult result = gpu_.driver().StreamWriteValue32(
      gpu_.stream(), reinterpret_cast<CUdeviceptr>(current_), call, CU_STREAM_WRITE_VALUE_DEFAULT);
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  gpu_.driver().GetErrorString(result, &text);
  obstacle_ = text != nullptr ? text : "unknown error";
}

void CollectiveWatch::begin(uint32_t number, const char* kind) {
  if (current_ == nullptr) return;
  if (++call_ == 0) ++call_;
  Call& call = calls_[call_ % calls_.size()];
  call.number = number;
  call.kind = kind;
  write(call_);
}

void CollectiveWatch::end() {
  if (current_ != nullptr) write(0);
}

void CollectiveWatch::start() {
  if (current_ == nullptr || ops_.empty() || thread_.joinable()) return;
  thread_ = start_thread("watching collectives", "run fewer processes here", [this] { watch(); });
}

// A step that is recorded repeats its calls' numbers, so that a number that stays is only one call
// within a step.
void CollectiveWatch::watch() {
  comm::WaitClock clock;
  uint32_t last = 0;
  uint64_t last_step = 0;
  while (!stop_) {
    std::this_thread::sleep_for(kLook);
    const uint32_t current = std::atomic_ref<uint32_t>(*current_).load(std::memory_order_acquire);
    const uint64_t step = steps_;
    if (current == 0 || current != last || step != last_step) clock.restart();
    last = current;
    last_step = step;
    if (current == 0) continue;
    const std::chrono::milliseconds waited = clock.waited();
    const bool told = comm::termination_is_due() && waited >= 3 * kLook;
    if (waited <= options_.limit && !told) continue;
    const Call& call = calls_[current % calls_.size()];
    const Op& op = ops_[call.number];
    const comm::Wait wait{rank_, call.kind.load(), op.name, op.ranks};
    const UserError error =
        told ? comm::ended_while_waiting(wait) : comm::waited_too_long(wait, options_.limit);
    options_.give_up(error.what());
    return;
  }
}

}  // namespace spmd::cuda
