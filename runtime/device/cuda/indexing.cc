// Copies, dynamic slices and gathers. Scatters are in scatter.cc.
#include <algorithm>
#include <set>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

// A copy whose source or target the program moves.
struct Move {
  std::vector<int64_t> shape;
  BoundView in, out;  // with the strides of `shape`
  std::vector<BoundView> starts;
  std::vector<int64_t> limits, start_strides;
  bool moves_out = false;
};

// The most bytes, up to 16, that can be moved as one element.
int64_t widest(const plan::Plan& plan, const Move& move, const cpu::Iteration& it) {
  const int64_t bytes = move.in.element_bytes;
  const size_t last = it.rank() - 1;
  if (it.rank() == 0 || it.strides[0][last] != 1 || it.strides[1][last] != 1) return bytes;
  int64_t factor = 16 / bytes;
  const auto fits = [&](int64_t f) {
    if (it.shape[last] % f != 0) return false;
    if (alignment_of(plan, move.in) % (f * bytes) != 0) return false;
    if (alignment_of(plan, move.out) % (f * bytes) != 0) return false;
    for (size_t d = 0; d < last; ++d)
      if (it.strides[0][d] % f != 0 || it.strides[1][d] % f != 0) return false;
    for (size_t s = 0; s < move.starts.size(); ++s)
      if (move.limits[s] > 0 && move.start_strides[s] % f != 0) return false;
    return true;
  };
  while (factor > 1 && !fits(factor)) factor /= 2;
  return factor * bytes;
}

class MoveKernel : public Kernel {
 public:
  static KernelPtr make(CudaDevice& device, Move move) {
    cpu::Iteration it = in_memory_order(move.shape, {move.out.strides, move.in.strides});
    const int64_t bytes = move.in.element_bytes;
    if (bytes > 16 || move.starts.size() > static_cast<size_t>(kMostDims)) return nullptr;
    const int64_t width = it.count() == 0 ? bytes : widest(device.plan(), move, it);
    const int64_t factor = width / bytes;
    if (factor > 1) {
      it.shape.back() /= factor;
      for (auto& strides : it.strides)
        for (size_t d = 0; d + 1 < strides.size(); ++d) strides[d] /= factor;
      for (int64_t& stride : move.start_strides) stride /= factor;
    }
    const std::optional<Space> space = space_of(it.shape);
    if (!space) return nullptr;
    return std::unique_ptr<Kernel>(
        new MoveKernel(device, std::move(move), *space, it, "copy_" + std::to_string(width)));
  }

  void run(const RunContext& context) override {
    if (parameters_.space.count == 0) return;
    for (size_t s = 0; s < move_.starts.size(); ++s)
      parameters_.start[s].at = move_.starts[s].data(context);
    gpu_.launch(function_, parameters_.space.count, parameters_, move_.in.data(context),
                move_.out.data(context));
  }

 private:
  MoveKernel(CudaDevice& device, Move move, const Space& space, const cpu::Iteration& it,
             const std::string& name)
      : gpu_(device.gpu()), function_(device.library().find(name)), move_(std::move(move)) {
    parameters_.space = space;
    put(it.strides[0], parameters_.out);
    put(it.strides[1], parameters_.in);
    parameters_.starts = static_cast<int32_t>(move_.starts.size());
    parameters_.moves_out = move_.moves_out ? 1 : 0;
    for (size_t s = 0; s < move_.starts.size(); ++s) {
      StartIndex& start = parameters_.start[s];
      start.bytes = static_cast<int32_t>(move_.starts[s].element_bytes);
      start.is_signed = plan::is_signed_int(move_.starts[s].dtype) ? 1 : 0;
      start.limit = move_.limits[s];
      start.stride = move_.start_strides[s];
    }
  }

  const Gpu& gpu_;
  CUfunction function_;
  Move move_;
  CopyParameters parameters_;
};

class InOrder : public Kernel {
 public:
  explicit InOrder(std::vector<KernelPtr> kernels) : kernels_(std::move(kernels)) {}
  void run(const RunContext& context) override {
    for (const KernelPtr& kernel : kernels_) kernel->run(context);
  }

 private:
  std::vector<KernelPtr> kernels_;
};

class GatherKernel : public Kernel {
 public:
  GatherKernel(CudaDevice& device, const plan::Gather& step, const GatherParameters& parameters)
      : gpu_(device.gpu()),
        operand_(step.operand()),
        indices_(step.indices()),
        out_(step.out()),
        parameters_(parameters),
        function_(device.library().find("gather_" + std::to_string(out_.element_bytes))) {}

  void run(const RunContext& context) override {
    if (parameters_.space.count == 0) return;
    gpu_.launch(function_, parameters_.space.count, parameters_, operand_.data(context),
                indices_.data(context), out_.data(context));
  }

 private:
  const Gpu& gpu_;
  BoundView operand_, indices_, out_;
  GatherParameters parameters_;
  CUfunction function_;
};

}  // namespace

KernelPtr make_copy(CudaDevice& device, const std::vector<int64_t>& shape, const BoundView& in,
                    const BoundView& out) {
  Move move;
  move.shape = shape;
  move.in = in;
  move.out = out;
  return MoveKernel::make(device, std::move(move));
}

KernelPtr make_elementwise(const plan::Elementwise& step, CudaDevice& device) {
  if (step.program().instructions_size() > 0) return nullptr;
  std::vector<KernelPtr> copies;
  for (int i = 0; i < step.outputs_size(); ++i) {
    const BoundView in(step.inputs(step.program().outputs(i))), out(step.outputs(i));
    KernelPtr copy = make_copy(device, plan::dims_of(step.shape()), in, out);
    if (!copy) return nullptr;
    copies.push_back(std::move(copy));
  }
  // Copies one after the other must not overwrite what later ones read.
  if (copies.size() > 1)
    for (const plan::View& in : step.inputs())
      for (const plan::View& out : step.outputs())
        if (in.buffer() == out.buffer()) return nullptr;
  if (copies.size() == 1) return std::move(copies[0]);
  return std::make_unique<InOrder>(std::move(copies));
}

KernelPtr make_dynamic_slice(const plan::DynamicSlice& step, CudaDevice& device) {
  Move move;
  move.shape = plan::dims_of(step.out().shape());
  move.in = BoundView(step.operand());
  move.out = BoundView(step.out());
  for (int d = 0; d < step.starts_size(); ++d) {
    move.starts.emplace_back(step.starts(d));
    move.limits.push_back(step.operand().shape(d) - step.out().shape(d));
    move.start_strides.push_back(step.operand().strides(d));
  }
  return MoveKernel::make(device, std::move(move));
}

KernelPtr make_dynamic_update_slice(const plan::DynamicUpdateSlice& step, CudaDevice& device) {
  Move move;
  move.shape = plan::dims_of(step.update().shape());
  move.in = BoundView(step.update());
  move.out = BoundView(step.out());
  move.moves_out = true;
  for (int d = 0; d < step.starts_size(); ++d) {
    move.starts.emplace_back(step.starts(d));
    move.limits.push_back(step.out().shape(d) - step.update().shape(d));
    move.start_strides.push_back(step.out().strides(d));
    // Threads that read them would meet others that write the result.
    if (step.starts(d).buffer() == step.out().buffer()) return nullptr;
  }
  const BoundView operand(step.operand()), out = move.out;
  KernelPtr part = MoveKernel::make(device, std::move(move));
  const bool in_place = operand.buffer == out.buffer && operand.offset == out.offset &&
                        operand.strides == out.strides;
  if (in_place || !part) return part;
  std::vector<KernelPtr> kernels;
  kernels.push_back(make_copy(device, out.shape, operand, out));
  if (!kernels[0]) return nullptr;
  kernels.push_back(std::move(part));
  return std::make_unique<InOrder>(std::move(kernels));
}

KernelPtr make_gather(const plan::Gather& step, CudaDevice& device) {
  const BoundView operand(step.operand()), indices(step.indices()), out(step.out());
  const std::optional<Space> space = space_of(out.shape);
  if (!space || step.start_index_map_size() > kMostDims || out.element_bytes > 16) return nullptr;
  GatherParameters p;
  p.space = *space;
  put(out.strides, p.out);
  const std::set<int64_t> offsets(step.offset_dims().begin(), step.offset_dims().end());
  std::set<int64_t> dropped(step.collapsed_slice_dims().begin(), step.collapsed_slice_dims().end());
  dropped.insert(step.operand_batching_dims().begin(), step.operand_batching_dims().end());
  size_t operand_dim = 0, index_dim = 0;
  for (size_t d = 0; d < out.shape.size(); ++d) {
    if (offsets.count(static_cast<int64_t>(d))) {
      while (dropped.count(static_cast<int64_t>(operand_dim))) ++operand_dim;
      p.operand[d] = operand.strides[operand_dim++];
      continue;
    }
    if (static_cast<int64_t>(index_dim) == step.index_vector_dim()) ++index_dim;
    p.indices[d] = indices.strides[index_dim];
    for (int i = 0; i < step.start_indices_batching_dims_size(); ++i)
      if (step.start_indices_batching_dims(i) == static_cast<int64_t>(index_dim))
        p.operand[d] = operand.strides[static_cast<size_t>(step.operand_batching_dims(i))];
    ++index_dim;
  }
  p.components = step.start_index_map_size();
  for (int c = 0; c < p.components; ++c) {
    const auto d = static_cast<int>(step.start_index_map(c));
    p.limit[c] = step.operand().shape(d) - step.slice_sizes(d);
    p.stride[c] = step.operand().strides(d);
  }
  p.index_bytes = static_cast<int32_t>(indices.element_bytes);
  p.index_is_signed = plan::is_signed_int(indices.dtype) ? 1 : 0;
  const auto vector_dim = static_cast<size_t>(step.index_vector_dim());
  p.component_stride = vector_dim < indices.strides.size() ? indices.strides[vector_dim] : 0;
  return std::make_unique<GatherKernel>(device, step, p);
}

}  // namespace spmd::cuda
