// Kernel: one step of a Plan made ready to run on the CPU.
//
// Everything is decided when a kernel is made; run() allocates nothing. Kernels name buffers by
// number, since the buffers of aliased arguments and results change places after each step.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/plan/dtype.h"
#include "runtime/plan/plan.h"

namespace spmd::cpu {

// What a kernel sees while it runs.
struct RunContext {
  std::byte* const* buffers = nullptr;  // by the Plan's numbers
  std::byte* workspace = nullptr;       // the most that any kernel asked for; aligned to 64 bytes
};

class CompiledModule;

// What a kernel sees while it is made.
struct LoadContext {
  std::string op;               // of the step, for messages
  int64_t workspace_bytes = 0;  // raised by kernels that need more
  // Steps with a compiled kernel get it from here; null: the device's own loops do all steps.
  const CompiledModule* compiled = nullptr;
  bool uses_local_buffers = false;  // set by kernels that want memory for LOCAL buffers

  // Bytes a kernel may use from the start of the workspace.
  void need_workspace(int64_t bytes) {
    if (bytes > workspace_bytes) workspace_bytes = bytes;
  }
};

class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual void run(const RunContext& context) = 0;
};
using KernelPtr = std::unique_ptr<Kernel>;

// A view with its numbers at hand.
struct BoundView {
  BoundView() = default;
  explicit BoundView(const plan::View& view)
      : buffer(view.buffer()),
        dtype(view.dtype()),
        element_bytes(plan::byte_size(view.dtype())),
        offset(view.offset() * element_bytes),
        strides(view.strides().begin(), view.strides().end()),
        shape(view.shape().begin(), view.shape().end()) {}

  std::byte* data(const RunContext& context) const { return context.buffers[buffer] + offset; }

  int32_t buffer = 0;
  plan::DType dtype = plan::INVALID;
  int64_t element_bytes = 0;
  int64_t offset = 0;            // bytes
  std::vector<int64_t> strides;  // elements
  std::vector<int64_t> shape;
};

// The kernel of any step but collectives and control flow. Throws UserError when the CPU cannot
// do what the step asks for.
KernelPtr make_kernel(const plan::Step& step, LoadContext& context);

// One function per kind of step, by op family.
KernelPtr make_elementwise(const plan::Elementwise& step, LoadContext& context);
KernelPtr make_reduce(const plan::Reduce& step, LoadContext& context);
KernelPtr make_dot(const plan::Dot& step, LoadContext& context);
KernelPtr make_convolution(const plan::Convolution& step, LoadContext& context);
KernelPtr make_gather(const plan::Gather& step, LoadContext& context);
KernelPtr make_scatter(const plan::Scatter& step, LoadContext& context);
KernelPtr make_dynamic_slice(const plan::DynamicSlice& step, LoadContext& context);
KernelPtr make_dynamic_update_slice(const plan::DynamicUpdateSlice& step, LoadContext& context);
KernelPtr make_reduce_window(const plan::ReduceWindow& step, LoadContext& context);
KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, LoadContext& context);
KernelPtr make_sort(const plan::Sort& step, LoadContext& context);
KernelPtr make_top_k(const plan::TopK& step, LoadContext& context);
KernelPtr make_fft(const plan::Fft& step, LoadContext& context);
KernelPtr make_cholesky(const plan::Cholesky& step, LoadContext& context);
KernelPtr make_triangular_solve(const plan::TriangularSolve& step, LoadContext& context);
KernelPtr make_fused(const plan::Fused& step, LoadContext& context);
KernelPtr make_rng_bit_generator(const plan::RngBitGenerator& step, LoadContext& context);

// A copy between views of one shape and type (also what an Elementwise without instructions is).
KernelPtr make_copy(const std::vector<int64_t>& shape, const BoundView& in, const BoundView& out);

// An integer scalar of any integer type (BOOL as 0 or 1).
int64_t read_integer(const std::byte* data, plan::DType dtype);

}  // namespace spmd::cpu
