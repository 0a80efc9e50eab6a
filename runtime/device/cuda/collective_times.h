// How long collectives took, and how long computation waited for them, by events on the GPU.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/collective_record.h"
#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

class CollectiveTimes {
 public:
  using Call = std::optional<size_t>;  // none: it is not measured

  explicit CollectiveTimes(const Gpu& gpu) : gpu_(gpu) {}
  ~CollectiveTimes();
  CollectiveTimes(const CollectiveTimes&) = delete;
  CollectiveTimes& operator=(const CollectiveTimes&) = delete;

  // While it is off, nothing is measured: what is recorded for later has no times.
  void set_on(bool on) { is_on_ = on; }

  // Around what one collective queues on its stream. `record` outlives the call.
  Call begin(CollectiveRecord& record);
  void end(Call call);
  // The stream has come to where it will wait for a collective.
  CUevent arrive();
  // That wait ends with this call: what passes from `arrived` to its end is exposed.
  void wait(CUevent arrived, Call call);
  // The stream of the call computes too: all of it is exposed.
  void wait_throughout(Call call);

  // Whether so many calls have been measured that it is time to read().
  bool is_full() const { return calls_.size() >= kMostCalls; }
  // Adds all that was measured to the records. The GPU has done it.
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
  CUevent mark();
  Measured& measured(size_t call) { return calls_[call - first_]; }
  double milliseconds(CUevent begin, CUevent end) const;

  const Gpu& gpu_;
  bool is_on_ = true;
  size_t first_ = 0;  // number of the first of calls_; the ones before have ended
  std::vector<Measured> calls_;
  std::vector<Wait> waits_;
  std::vector<CUevent> events_;
  size_t used_ = 0;  // of the events
};

}  // namespace spmd::cuda
