// Graphs of cuDNN, for the files that are built with its headers.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>

#define NV_CUDNN_FRONTEND_USE_DYNAMIC_LOADING
#include <cudnn_frontend.h>

#include "runtime/device/cuda/cudnn.h"
#include "runtime/plan/dtype.h"

namespace spmd::cuda {

namespace fe = cudnn_frontend;

// "9.10.2"
std::string cudnn_version_text(size_t version);

// Floats of 64 bits have none.
fe::DataType_t cudnn_type(plan::DType dtype);

// An operation that cuDNN has a plan for, or several.
struct CudnnGraph {
  fe::graph::Graph graph;
  int64_t workspace_bytes = 0;
};

class Cudnn {
 public:
  // Throws UserError when it does not start.
  explicit Cudnn(const Gpu& gpu);
  ~Cudnn();
  Cudnn(const Cudnn&) = delete;
  Cudnn& operator=(const Cudnn&) = delete;

  cudnnHandle_t handle() const { return handle_; }
  // A graph, not yet defined, of inputs and outputs of one type, computed in F32.
  std::shared_ptr<CudnnGraph> new_graph(plan::DType dtype) const;
  // What was kept under this key; null the first time.
  std::shared_ptr<CudnnGraph>& kept(const std::string& key) { return graphs_[key]; }

 private:
  void expect(cudnnStatus_t status) const;

  const Gpu& gpu_;
  cudnnHandle_t handle_ = nullptr;
  std::map<std::string, std::shared_ptr<CudnnGraph>> graphs_;
};

}  // namespace spmd::cuda
