// Steps as CUDA graphs: what a step queues is recorded once and then launched as one.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "runtime/device/cuda/gpu.h"

namespace spmd::cuda {

class StepGraphs {
 public:
  // `before`: steps that come before the first one that is recorded, at least 1: in the first one
  // libraries load what they need. `obstacle`: why steps cannot be recorded; empty: nothing is
  // known to forbid it.
  StepGraphs(const Gpu& gpu, int before, std::string obstacle)
      : gpu_(gpu), before_(before), obstacle_(std::move(obstacle)) {}
  ~StepGraphs();
  StepGraphs(const StepGraphs&) = delete;
  StepGraphs& operator=(const StepGraphs&) = delete;

  // Queues a step on the current stream, and on others that begin and end there. `graph`: the
  // number of the graph that it is recorded for; -1: it is not.
  using Work = std::function<void(int graph)>;

  // Does `work`, as Device::run_step() has it. Returns the number of the graph that did it; -1:
  // none.
  int run(std::span<std::byte* const> buffers, const Work& work);

  // Why steps are not recorded, or not any more; empty: they are.
  const std::string& obstacle() const { return obstacle_; }

 private:
  using Addresses = std::vector<std::byte*>;
  struct Graph {
    int number;
    CUgraphExec handle;
  };

  // Null when it cannot be: `work` has then not been done.
  CUgraphExec record(const Work& work);

  const Gpu& gpu_;
  int before_;  // steps to come before the first recorded one
  std::string obstacle_;
  std::map<Addresses, Graph> graphs_;
};

}  // namespace spmd::cuda
