// One GPU, driven by one rank.
//
// Whatever a step needs is queued in the Plan's order, on the streams that the Plan names where
// there are other ranks; the host waits where it needs a value (copy_out), where the CPU does a
// step, and in synchronize().
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "collectives/comm/communicator.h"
#include "runtime/device/cuda/blas.h"
#include "runtime/device/cuda/compiled.h"
#include "runtime/device/cuda/convolution.h"
#include "runtime/device/cuda/cudnn.h"
#include "runtime/device/cuda/gpu.h"
#include "runtime/device/cuda/library.h"
#include "runtime/device/cuda/nccl.h"
#include "runtime/device/cuda/staging.h"
#include "runtime/device/cuda/step_graphs.h"
#include "runtime/device/cuda/step_streams.h"
#include "runtime/device/cuda/trace.h"
#include "runtime/device/cuda/tuning_cache.h"
#include "runtime/device/device.h"
#include "runtime/device/make_device.h"

namespace spmd::cuda {

class CudaDevice : public Device {
 public:
  // `communicator`, which outlives the device: choices that ranks have to agree on are rank 0's.
  // `has_nccl`: every rank has a GPU of its own, and NCCL connects them. Throws UserError when the
  // GPU cannot be used, or NCCL is wanted and missing.
  CudaDevice(const Driver& driver, int ordinal, comm::Communicator& communicator, bool has_nccl,
             const DeviceOptions& options);
  ~CudaDevice() override;

  std::string description() const override;
  bool shares_host_memory() const override { return false; }
  int64_t free_memory() const override { return gpu_.free_memory(); }
  void load(const plan::Plan& plan) override;

  std::byte* allocate(int64_t bytes) override;
  void copy_in(std::byte* to, const void* from, int64_t bytes) override;
  void copy_out(void* to, const std::byte* from, int64_t bytes) override;
  void copy(std::byte* to, const std::byte* from, int64_t bytes) override;
  void synchronize() override { gpu_.synchronize(); }
  bool draw(const RandomDraw& draw, const plan::Placement& placement, const LocalBlock& block,
            std::byte* to) override;

  KernelPtr make_kernel(const plan::Step& step, LoadContext& context) override;
  KernelPtr from_host(const plan::Step& step, KernelPtr kernel, int64_t workspace_bytes,
                      LoadContext& context) override;
  bool overlaps_collectives() const override { return streams_ && !streams_->is_one(); }
  KernelPtr in_order(const plan::Step& step, KernelPtr kernel, CollectiveRecord* record) override;
  void read_times() override {
    if (streams_) streams_->times().read();
  }
  bool connects(const TransportNeeds& needs) const override;
  std::unique_ptr<Transport> connect(comm::Group& group, const TransportNeeds& needs,
                                     const std::string& op) override;
  void open_connections() override {
    if (nccl_) nccl_->open();
  }
  void settle(LoadContext& context) override;
  void run_step(std::span<std::byte* const> buffers, const std::function<void()>& work) override;
  std::vector<std::string> notes() const override;

  // For kernels while they are made.
  const Gpu& gpu() const { return gpu_; }
  const plan::Plan& plan() const { return *plan_; }
  const Blas& blas();
  std::shared_ptr<Cudnn> cudnn();  // null without cuDNN
  Library& library();
  // A product whose algorithm settle() chooses: timed on rank 0, the same on all ranks. Its
  // workspace lies behind `before` bytes that its kernel uses itself. It lives as long as its
  // kernel.
  // `after_us`: the time of what this product needs another kernel for; it is in its choice.
  void add_product(Matmul& product, int64_t before, std::function<double()> after_us = {}) {
    products_.push_back({&product, before, std::move(after_us)});
  }
  // One of notes().
  void add_note(std::string note) { notes_.push_back(std::move(note)); }
  // The same of a convolution.
  void add_convolution(ConvolutionStep& step) { convolutions_.push_back(&step); }
  // An Elementwise step, compiled or by the library; null when neither can.
  KernelPtr make_map(const plan::Step& step);
  // Microseconds that a step's kernel takes, on memory of its own or by the cache; 0 when there is
  // none.
  double time_alone(Kernel& kernel, const plan::Step& step);

 private:
  void settle_products(LoadContext& context, bool alike);
  void settle_convolutions(LoadContext& context, bool alike);
  std::string note_on_convolutions() const;
  KernelPtr make_gpu_kernel(const plan::Step& step, LoadContext& context);
  std::string why_no_graphs() const;
  double measure_alone(Kernel& kernel, const plan::Step& step) const;
  KernelPtr traced(const plan::Step& step, bool on_host, KernelPtr kernel);

  Gpu gpu_;
  comm::Communicator& communicator_;
  const plan::Plan* plan_ = nullptr;
  std::unique_ptr<StepStreams> streams_;  // null: one rank, and one stream
  std::unique_ptr<NcclGroups> nccl_;      // null: collectives go through the host
  std::unique_ptr<Blas> blas_;
  std::shared_ptr<Cudnn> cudnn_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<CompiledModule> compiled_;
  std::string why_not_compiled_;
  std::unique_ptr<Staging> staging_;  // null: no step runs on the host
  std::vector<GpuMemory> memory_;
  int64_t allocated_ = 0;    // bytes of memory_
  int64_t used_before_ = 0;  // of the GPU's memory, by whomever, when this device was made
  struct Product {
    Matmul* matmul;
    int64_t before;
    std::function<double()> after_us;  // empty: nothing follows
  };
  std::vector<Product> products_;
  std::vector<ConvolutionStep*> convolutions_;
  int timed_convolutions_ = 0;
  TuningCache tuning_;
  int timed_ = 0;                          // products and kernels, by settle()
  std::map<int32_t, double> times_alone_;  // by the number of the kernel
  std::string kernels_key_;                // of the Plan's compiled code
  std::vector<std::string> host_steps_;    // "sort (model.py:12)", of steps that the CPU does
  int64_t gpu_steps_ = 0;
  std::vector<std::string> notes_;  // add_note()
  StepRecording wants_graphs_;
  std::unique_ptr<StepGraphs> graphs_;  // null: steps are not recorded
  std::unique_ptr<Trace> trace_;        // null: steps are not waited for
};

// By op family; null when the GPU has no kernel for the step.
KernelPtr make_elementwise(const plan::Elementwise& step, CudaDevice& device);
KernelPtr make_dot(const plan::Dot& step, CudaDevice& device, LoadContext& context);
KernelPtr make_attention(const plan::Attention& step, CudaDevice& device, LoadContext& context);
KernelPtr make_attention_backward(const plan::AttentionBackward& step, CudaDevice& device,
                                  LoadContext& context);
KernelPtr make_convolution(const plan::Convolution& step, CudaDevice& device, LoadContext& context);
KernelPtr make_dynamic_slice(const plan::DynamicSlice& step, CudaDevice& device);
KernelPtr make_dynamic_update_slice(const plan::DynamicUpdateSlice& step, CudaDevice& device);
KernelPtr make_gather(const plan::Gather& step, CudaDevice& device);
KernelPtr make_scatter(const plan::Scatter& step, CudaDevice& device, LoadContext& context);
KernelPtr make_reduce_window(const plan::ReduceWindow& step, CudaDevice& device);
KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, CudaDevice& device);
KernelPtr make_rng_bit_generator(const plan::RngBitGenerator& step, CudaDevice& device);

// A copy between views of one shape and type.
KernelPtr make_copy(CudaDevice& device, const std::vector<int64_t>& shape, const BoundView& in,
                    const BoundView& out);

}  // namespace spmd::cuda
