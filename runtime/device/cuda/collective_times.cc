#include "runtime/device/cuda/collective_times.h"

#include <algorithm>

namespace spmd::cuda {

CollectiveTimes::~CollectiveTimes() {
  for (CUevent event : events_) gpu_.driver().EventDestroy(event);
}

CUevent CollectiveTimes::mark() {
  if (used_ == events_.size()) {
    CUevent event = nullptr;
    gpu_.check(gpu_.driver().EventCreate(&event, CU_EVENT_DEFAULT), "making an event");
    events_.push_back(event);
  }
  CUevent event = events_[used_++];
  gpu_.check(gpu_.driver().EventRecord(event, gpu_.stream()), "timing");
  return event;
}

CollectiveTimes::Call CollectiveTimes::begin(CollectiveRecord& record) {
  if (!is_on_) return std::nullopt;
  calls_.push_back({&record, mark(), nullptr});
  return first_ + calls_.size() - 1;
}

void CollectiveTimes::end(Call call) {
  if (call) measured(*call).end = mark();
}

CUevent CollectiveTimes::arrive() { return is_on_ ? mark() : nullptr; }

void CollectiveTimes::wait(CUevent arrived, Call call) {
  if (arrived != nullptr && call && *call >= first_) waits_.push_back({arrived, *call});
}

void CollectiveTimes::wait_throughout(Call call) {
  if (call) wait(measured(*call).begin, call);
}

double CollectiveTimes::milliseconds(CUevent begin, CUevent end) const {
  float result = 0;
  gpu_.check(gpu_.driver().EventElapsedTime(&result, begin, end), "timing");
  return static_cast<double>(result);
}

// Of two waits for one call, the second began after its end.
void CollectiveTimes::read() {
  for (const Measured& call : calls_)
    call.record->milliseconds += milliseconds(call.begin, call.end);
  for (const Wait& wait : waits_) {
    const Measured& call = measured(wait.call);
    call.record->exposed_ms += std::max(milliseconds(wait.arrived, call.end), 0.0);
  }
  first_ += calls_.size();
  calls_.clear();
  waits_.clear();
  used_ = 0;
}

}  // namespace spmd::cuda
