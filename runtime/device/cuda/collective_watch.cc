#include "runtime/device/cuda/collective_watch.h"

#include "collectives/comm/termination.h"
#include "collectives/comm/waiting.h"

namespace spmd::cuda {
namespace {

constexpr size_t kBegun = 0, kEnded = 1;
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

CollectiveWatch::CollectiveWatch(const Gpu& gpu, int rank, WatchOptions options)
    : gpu_(gpu), rank_(rank), options_(std::move(options)) {
  if (options_.limit.count() == 0) return;
  void* memory = nullptr;
  gpu_.check(gpu_.driver().MemHostAlloc(&memory, 2 * sizeof(uint32_t), CU_MEMHOSTALLOC_PORTABLE),
             "allocating host memory");
  counters_ = static_cast<uint32_t*>(memory);
  counters_[kBegun] = counters_[kEnded] = 0;
}

CollectiveWatch::~CollectiveWatch() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  if (counters_ != nullptr) gpu_.driver().MemFreeHost(counters_);
}

uint32_t CollectiveWatch::add(const std::string& op, const std::string& ranks) {
  ops_.push_back({op, ranks});
  return static_cast<uint32_t>(ops_.size() - 1);
}

// Memory of the host that is pinned has one address on both sides.
void CollectiveWatch::write(size_t which, uint32_t value) {
  const CUresult result = gpu_.driver().StreamWriteValue32(
      gpu_.stream(), reinterpret_cast<CUdeviceptr>(counters_ + which), value,
      CU_STREAM_WRITE_VALUE_DEFAULT);
  if (result == CUDA_SUCCESS) return;
  const char* text = nullptr;
  gpu_.driver().GetErrorString(result, &text);
  obstacle_ = text != nullptr ? text : "unknown error";
}

uint32_t CollectiveWatch::read(size_t which) const {
  return std::atomic_ref<uint32_t>(counters_[which]).load(std::memory_order_acquire);
}

void CollectiveWatch::begin(uint32_t number, const char* kind) {
  if (counters_ == nullptr || !obstacle_.empty()) return;
  Call& call = calls_[++call_ % calls_.size()];
  call.number = number;
  call.kind = kind;
  write(kBegun, call_);
}

void CollectiveWatch::end() {
  if (counters_ != nullptr && obstacle_.empty()) write(kEnded, call_);
}

void CollectiveWatch::start() {
  if (counters_ == nullptr || ops_.empty() || thread_.joinable()) return;
  thread_ = std::thread([this] { watch(); });
}

void CollectiveWatch::watch() {
  comm::WaitClock clock;
  uint32_t last = 0;
  while (!stop_) {
    std::this_thread::sleep_for(kLook);
    const uint32_t ended = read(kEnded), begun = read(kBegun);
    if (begun == ended || begun != last) clock.restart();
    last = begun;
    if (begun == ended) continue;
    const std::chrono::milliseconds waited = clock.waited();
    const bool told = comm::termination_is_due() && waited >= 3 * kLook;
    if (waited <= options_.limit && !told) continue;
    const Call& call = calls_[begun % calls_.size()];
    const Op& op = ops_[call.number];
    const comm::Wait wait{rank_, call.kind.load(), op.name, op.ranks};
    const UserError error =
        told ? comm::ended_while_waiting(wait) : comm::waited_too_long(wait, options_.limit);
    options_.give_up(error.what());
    return;
  }
}

}  // namespace spmd::cuda
