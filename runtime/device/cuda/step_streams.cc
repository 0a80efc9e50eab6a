#include "runtime/device/cuda/step_streams.h"

#include <cstdlib>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace spmd::cuda {
namespace {

CUstream make_urgent_stream(const Gpu& gpu) {
  int least = 0, most = 0;
  gpu.check(gpu.driver().CtxGetStreamPriorityRange(&least, &most), "asking for priorities");
  CUstream stream = nullptr;
  gpu.check(gpu.driver().StreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, most),
            "making a stream");
  return stream;
}

CUevent make_order_event(const Gpu& gpu) {
  CUevent event = nullptr;
  gpu.check(gpu.driver().EventCreate(&event, CU_EVENT_DISABLE_TIMING), "making an event");
  return event;
}

}  // namespace

class StepStreams::OrderedKernel : public Kernel {
 public:
  // `record`: null of what is no collective between GPUs.
  OrderedKernel(StepStreams& streams, const plan::Step& step, KernelPtr kernel,
                CollectiveRecord* record)
      : streams_(streams),
        kernel_(std::move(kernel)),
        record_(record),
        is_on_main_(step.stream() == 0),
        event_(streams.event_of(step)) {
    for (int32_t event : step.waits_for()) waits_for_.push_back(&streams.events_.at(event));
  }

  void run(const RunContext& context) override {
    // A step of a loop is where the loop is.
    const StreamScope scope(streams_.gpu_,
                            is_on_main_ ? streams_.gpu_.stream() : streams_.communication_);
    for (Event* event : waits_for_) streams_.wait_for(*event);
    CollectiveTimes::Call call;
    if (record_ != nullptr) {
      call = streams_.run_collective(*kernel_, context, *record_);
    } else {
      kernel_->run(context);
    }
    if (event_ != nullptr) streams_.record(*event_, call);
  }

 private:
  StepStreams& streams_;
  KernelPtr kernel_;
  CollectiveRecord* record_;
  bool is_on_main_;
  Event* event_;  // null: none
  std::vector<Event*> waits_for_;
};

StepStreams::StepStreams(Gpu& gpu, bool one)
    : gpu_(gpu),
      main_(gpu.stream()),
      communication_(one ? main_ : make_urgent_stream(gpu)),
      hand_over_(make_order_event(gpu)),
      times_(gpu) {}

StepStreams::~StepStreams() {
  for (const auto& [number, event] : events_) gpu_.driver().EventDestroy(event.handle);
  gpu_.driver().EventDestroy(hand_over_);
  if (!is_one()) gpu_.driver().StreamDestroy(communication_);
}

bool StepStreams::one_is_wanted() {
  const char* value = std::getenv("SPMD_CUDA_ONE_STREAM");
  return value != nullptr && std::string_view(value) != "0";
}

KernelPtr StepStreams::in_order(const plan::Step& step, KernelPtr kernel,
                                CollectiveRecord* record) {
  const bool is_ordered = step.stream() != 0 || step.event() != 0 || step.waits_for_size() > 0;
  if (!is_ordered && record == nullptr) return kernel;
  return std::make_unique<OrderedKernel>(*this, step, std::move(kernel), record);
}

StepStreams::Event* StepStreams::event_of(const plan::Step& step) {
  if (step.event() == 0) return nullptr;
  const CUstream stream = step.stream() == 0 ? main_ : communication_;
  const Event event{make_order_event(gpu_), stream, std::nullopt};
  return &events_.emplace(step.event(), event).first->second;
}

void StepStreams::record(Event& event, CollectiveTimes::Call call) const {
  event.call = call;
  if (is_one()) return;
  gpu_.check(gpu_.driver().EventRecord(event.handle, gpu_.stream()), "ordering streams");
}

// What has been on the same stream is in order already.
void StepStreams::wait_for(const Event& event) {
  if (event.stream == gpu_.stream()) return;
  CUevent arrived = event.call ? times_.arrive() : nullptr;
  gpu_.check(gpu_.driver().StreamWaitEvent(gpu_.stream(), event.handle, CU_EVENT_WAIT_DEFAULT),
             "ordering streams");
  times_.wait(arrived, event.call);
}

CollectiveTimes::Call StepStreams::run_collective(Kernel& kernel, const RunContext& context,
                                                  CollectiveRecord& record) {
  if (times_.is_full()) {
    drain();
    times_.read();
  }
  const CUstream home = gpu_.stream();
  CUevent arrived = home != communication_ ? times_.arrive() : nullptr;
  follow(communication_, home);
  size_t call = 0;
  {
    const StreamScope scope(gpu_, communication_);
    call = times_.begin(record);
    kernel.run(context);
    times_.end(call);
  }
  follow(home, communication_);
  times_.wait(arrived, call);
  if (is_one()) times_.wait_throughout(call);
  last_ = call;
  return call;
}

void StepStreams::follow(CUstream later, CUstream earlier) const {
  if (later == earlier) return;
  gpu_.check(gpu_.driver().EventRecord(hand_over_, earlier), "ordering streams");
  gpu_.check(gpu_.driver().StreamWaitEvent(later, hand_over_, CU_EVENT_WAIT_DEFAULT),
             "ordering streams");
}

void StepStreams::begin() {
  last_ = std::nullopt;
  follow(communication_, main_);
}

void StepStreams::end() {
  CUevent arrived = last_ && !is_one() ? times_.arrive() : nullptr;
  follow(main_, communication_);
  times_.wait(arrived, last_);
}

void StepStreams::drain() const {
  gpu_.driver().StreamSynchronize(main_);
  gpu_.driver().StreamSynchronize(communication_);
}

}  // namespace spmd::cuda
