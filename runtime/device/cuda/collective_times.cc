#include "runtime/device/cuda/collective_times.h"

#include <algorithm>

namespace spmd::cuda {

CollectiveTimes::~CollectiveTimes() {
  const auto destroy = [&](const Tape& tape) {
    for (CUevent event : tape.events) gpu_.driver().EventDestroy(event);
  };
  destroy(live_);
  for (const auto& [graph, tape] : graphs_) destroy(tape);
}

void CollectiveTimes::select(int graph) { tape_ = graph < 0 ? &live_ : &graphs_[graph]; }

CUevent CollectiveTimes::mark() {
  if (tape_->used == tape_->events.size()) {
    CUevent event = nullptr;
    gpu_.check(gpu_.driver().EventCreate(&event, CU_EVENT_DEFAULT), "making an event");
    tape_->events.push_back(event);
  }
  CUevent event = tape_->events[tape_->used++];
  const unsigned flags = tape_ == &live_ ? CU_EVENT_RECORD_DEFAULT : CU_EVENT_RECORD_EXTERNAL;
  gpu_.check(gpu_.driver().EventRecordWithFlags(event, gpu_.stream(), flags), "timing");
  return event;
}

size_t CollectiveTimes::begin(CollectiveRecord& record) {
  tape_->calls.push_back({&record, mark(), nullptr});
  return tape_->first + tape_->calls.size() - 1;
}

void CollectiveTimes::end(size_t call) { measured(call).end = mark(); }

void CollectiveTimes::wait(CUevent arrived, Call call) {
  if (arrived != nullptr && call && *call >= tape_->first) tape_->waits.push_back({arrived, *call});
}

void CollectiveTimes::wait_throughout(size_t call) { wait(measured(call).begin, call); }

double CollectiveTimes::milliseconds(CUevent begin, CUevent end) const {
  float result = 0;
  gpu_.check(gpu_.driver().EventElapsedTime(&result, begin, end), "timing");
  return static_cast<double>(result);
}

// Of two waits for one call, the second began after its end.
void CollectiveTimes::read() {
  for (const Measured& call : tape_->calls)
    call.record->milliseconds += milliseconds(call.begin, call.end);
  for (const Wait& wait : tape_->waits) {
    const Measured& call = measured(wait.call);
    call.record->exposed_ms += std::max(milliseconds(wait.arrived, call.end), 0.0);
  }
  if (tape_ != &live_) return;
  live_.first += live_.calls.size();
  live_.calls.clear();
  live_.waits.clear();
  live_.used = 0;
}

}  // namespace spmd::cuda
