#include "runtime/device/cuda/step_graphs.h"

#include "support/error.h"

namespace spmd::cuda {
namespace {

// Buffers of aliased arguments and results change places after each step, and are back after two.
constexpr size_t kMostGraphs = 4;

}  // namespace

StepGraphs::~StepGraphs() {
  for (const auto& [addresses, graph] : graphs_) gpu_.driver().GraphExecDestroy(graph.handle);
}

int StepGraphs::run(std::span<std::byte* const> buffers, const Work& work) {
  if (!obstacle_.empty() || before_ > 0) {
    work(-1);
    if (before_ > 0) --before_;
    return -1;
  }
  const Addresses addresses(buffers.begin(), buffers.end());
  auto known = graphs_.find(addresses);
  if (known == graphs_.end()) {
    if (graphs_.size() == kMostGraphs)
      obstacle_ = fmt::format("buffers still change places after {} steps", kMostGraphs);
    CUgraphExec graph = obstacle_.empty() ? record(work) : nullptr;
    if (graph == nullptr) {
      work(-1);
      return -1;
    }
    known = graphs_.emplace(addresses, Graph{static_cast<int>(graphs_.size()), graph}).first;
  }
  const Graph& graph = known->second;
  gpu_.check(gpu_.driver().GraphLaunch(graph.handle, gpu_.stream()), "starting a recorded step");
  return graph.number;
}

// While a stream is recorded nothing is done; what cannot be recorded makes a call fail, and ends
// the recording.
CUgraphExec StepGraphs::record(const Work& work) {
  const Driver& driver = gpu_.driver();
  // What is queued so far is no part of it.
  gpu_.synchronize();
  gpu_.check(driver.StreamBeginCapture(gpu_.stream(), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
             "recording a step");
  try {
    work(static_cast<int>(graphs_.size()));
  } catch (const UserError& error) {
    obstacle_ = error.what();
  }
  CUgraph recorded = nullptr;
  const CUresult ended = driver.StreamEndCapture(gpu_.stream(), &recorded);
  CUgraphExec graph = nullptr;
  const auto fail = [&](CUresult result, const char* what) {
    if (result == CUDA_SUCCESS || !obstacle_.empty()) return;
    const char* text = nullptr;
    driver.GetErrorString(result, &text);
    obstacle_ = fmt::format("{}: {}", what, text != nullptr ? text : "unknown error");
  };
  fail(ended, "it cannot be recorded");
  if (obstacle_.empty() && recorded == nullptr) obstacle_ = "nothing was recorded";
  if (obstacle_.empty()) fail(driver.GraphInstantiate(&graph, recorded, 0), "it cannot be made");
  if (recorded != nullptr) driver.GraphDestroy(recorded);
  return obstacle_.empty() ? graph : nullptr;
}

}  // namespace spmd::cuda
