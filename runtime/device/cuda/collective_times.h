// How long collectives took, and how long computation waited for them, by events on the GPU.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "runtime/collective_record.h"
#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

class CollectiveTimes {
 public:
  using Call = std::optional<size_t>;  // none: no collective between GPUs

  explicit CollectiveTimes(const Gpu& gpu) : gpu_(gpu) {}
  ~CollectiveTimes();
  CollectiveTimes(const CollectiveTimes&) = delete;
  CollectiveTimes& operator=(const CollectiveTimes&) = delete;

  // From now on, of steps that are queued one by one (-1), or of graph number `graph`: what is
  // queued is recorded, and measured each time that the graph runs.
  void select(int graph);

  // Around what one collective queues on its stream. `record` outlives the call.
  size_t begin(CollectiveRecord& record);
  void end(size_t call);
  // The stream has come to where it will wait for a collective.
  CUevent arrive() { return mark(); }
  // That wait ends with this call: what passes from `arrived` to its end is exposed.
  void wait(CUevent arrived, Call call);
  // The stream of the call computes too: all of it is exposed.
  void wait_throughout(size_t call);

  // Whether so many calls have been measured that it is time to read().
  bool is_full() const { return tape_ == &live_ && live_.calls.size() >= kMostCalls; }
  // Adds what was measured since the last call, or by the selected graph, to the records. The GPU
  // has done it.
  void read();

 private:
  static constexpr size_t kMostCalls = 4096;
  struct Measured {
    CollectiveRecord* record;
    CUevent begin, end;
  };
  struct Wait {
    CUevent arrived;
    size_t call;
  };
  struct Tape {
    size_t first = 0;  // number of the first call; the ones before have ended
    std::vector<Measured> calls;
    std::vector<Wait> waits;
    std::vector<CUevent> events;
    size_t used = 0;  // of the events
  };
  CUevent mark();
  Measured& measured(size_t call) { return tape_->calls[call - tape_->first]; }
  double milliseconds(CUevent begin, CUevent end) const;

  const Gpu& gpu_;
  Tape live_;
  std::map<int, Tape> graphs_;  // addresses stay valid
  Tape* tape_ = &live_;
};

}  // namespace spmd::cuda
