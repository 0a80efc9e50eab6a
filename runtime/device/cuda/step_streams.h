// The Plan's streams and events on a GPU: computation on the main stream, collectives on their own.
//
// All streams of the Plan but 0 are that one, so that the collectives of several communicators are
// in one order, the Plan's, on all ranks. Those within loops and branches are there too, and the
// stream that the loop is on waits for each.
#pragma once

#include <map>

#include "runtime/collective_record.h"
#include "runtime/device/cuda/collective_times.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

class StepStreams {
 public:
  // `one`: everything is on the main stream, in the Plan's order.
  StepStreams(Gpu& gpu, bool one);
  ~StepStreams();
  StepStreams(const StepStreams&) = delete;
  StepStreams& operator=(const StepStreams&) = delete;

  // Whether the environment variable SPMD_CUDA_ONE_STREAM is set, to anything but 0.
  static bool one_is_wanted();
  bool is_one() const { return communication_ == main_; }

  // As Device::in_order() has it; the streams outlive the kernel. Steps come in the Plan's order.
  KernelPtr in_order(const plan::Step& step, KernelPtr kernel, CollectiveRecord* record);

  // Around what a step queues: both streams begin behind what the main one has, and it goes on
  // behind both.
  void begin();
  void end();

  CollectiveTimes& times() { return times_; }
  // Waits for all that is queued, whatever became of it.
  void drain() const;

 private:
  class OrderedKernel;
  struct Event {
    CUevent handle;
    CUstream stream;             // that records it
    CollectiveTimes::Call call;  // whose end it is
  };

  // Null of a step that records none.
  Event* event_of(const plan::Step& step);
  void record(Event& event, CollectiveTimes::Call call) const;
  void wait_for(const Event& event);
  CollectiveTimes::Call run_collective(Kernel& kernel, const RunContext& context,
                                       CollectiveRecord& record);
  // What is queued on `later` from now on runs after what is on `earlier` by now.
  void follow(CUstream later, CUstream earlier) const;

  Gpu& gpu_;
  CUstream main_, communication_;
  CUevent hand_over_ = nullptr;
  std::map<int32_t, Event> events_;  // by the Plan's number; addresses stay valid
  CollectiveTimes times_;
  CollectiveTimes::Call last_;  // of the step
};

}  // namespace spmd::cuda
