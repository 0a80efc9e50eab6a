#include <algorithm>
#include <bit>
#include <set>

#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

constexpr uint32_t kSortBlock = 1024;  // as in kernels/scatter.cuh

// The updates are put in the order of their places, those of one place in their own order; then one
// thread applies all updates of an element. So results do not depend on the order in which threads
// run, nor on their number.
class ScatterKernel : public Kernel {
 public:
  ScatterKernel(CudaDevice& device, const plan::Scatter& step, const ScatterParameters& parameters,
                const std::string& type, KernelPtr copy)
      : gpu_(device.gpu()),
        indices_(step.indices()),
        updates_(step.updates(0)),
        out_(step.outs(0)),
        parameters_(parameters),
        copy_(std::move(copy)),
        keys_(device.library().find("scatter_keys")),
        sort_within_(device.library().find("sort_within_blocks")),
        sort_across_(device.library().find("sort_across_blocks")),
        apply_(device.library().find("scatter_" + type)) {}

  void run(const RunContext& context) override {
    if (copy_) copy_->run(context);
    if (parameters_.batch.count == 0 || parameters_.window.count == 0) return;
    std::byte* keys = context.workspace;
    gpu_.launch(keys_, parameters_.slots, parameters_, indices_.data(context), keys);
    sort(keys);
    const auto points = static_cast<int64_t>(parameters_.batch.count) * parameters_.window.count;
    gpu_.launch(apply_, points, parameters_, keys, updates_.data(context), out_.data(context));
  }

 private:
  void sort(std::byte* keys) const {
    const uint32_t slots = parameters_.slots;
    sort_within(keys, 2, std::min(slots, 2 * kSortBlock));
    for (uint32_t round = 4 * kSortBlock; round <= slots; round *= 2) {
      for (uint32_t distance = round / 2; distance > kSortBlock; distance /= 2)
        gpu_.launch(sort_across_, slots / 2, keys, slots, round, distance);
      sort_within(keys, round, round);
    }
  }
  void sort_within(std::byte* keys, uint32_t first, uint32_t last) const {
    if (parameters_.slots < 2) return;
    const unsigned blocks = (parameters_.slots + 2 * kSortBlock - 1) / (2 * kSortBlock);
    void* arguments[] = {&keys, const_cast<uint32_t*>(&parameters_.slots), &first, &last};
    gpu_.check(gpu_.driver().LaunchKernel(sort_within_, blocks, 1, 1, kSortBlock, 1, 1, 0,
                                          gpu_.stream(), arguments, nullptr),
               "starting a kernel");
  }

  const Gpu& gpu_;
  BoundView indices_, updates_, out_;
  ScatterParameters parameters_;
  KernelPtr copy_;  // null in place
  CUfunction keys_, sort_within_, sort_across_, apply_;
};

// Places are numbers of 32 bits.
bool has_small_places(const BoundView& out) {
  int64_t reach = 0;
  for (size_t d = 0; d < out.shape.size(); ++d) {
    if (out.strides[d] < 0) return false;
    if (out.shape[d] > 0) reach += out.strides[d] * (out.shape[d] - 1);
  }
  return reach < INT64_C(0xffffffff);
}

class ScatterMaker {
 public:
  explicit ScatterMaker(const plan::Scatter& step)
      : step_(step), indices_(step.indices()), updates_(step.updates(0)), out_(step.outs(0)) {
    dropped_.insert(step.inserted_window_dims().begin(), step.inserted_window_dims().end());
    windows_.insert(step.update_window_dims().begin(), step.update_window_dims().end());
  }

  // Windows of different places must not overlap: they may not extend along what is indexed.
  bool make(ScatterParameters& p) {
    if (step_.operands_size() != 1 || step_.scatter_dims_to_operand_dims_size() > kMostDims ||
        !has_small_places(out_))
      return false;
    const std::optional<Combine> combine =
        combine_of(step_.op(), step_.program(), step_.operands(0).dtype());
    if (!combine) return false;
    p.combine = *combine;
    return set_components(p) && set_window(p) && set_batch(p);
  }

 private:
  bool set_components(ScatterParameters& p) const {
    p.components = step_.scatter_dims_to_operand_dims_size();
    for (int c = 0; c < p.components; ++c) {
      const int64_t d = step_.scatter_dims_to_operand_dims(c);
      if (!dropped_.count(d)) return false;
      p.size[c] = out_.shape[static_cast<size_t>(d)];
      p.stride[c] = out_.strides[static_cast<size_t>(d)];
    }
    p.index_bytes = static_cast<int32_t>(indices_.element_bytes);
    p.index_is_signed = plan::is_signed_int(indices_.dtype) ? 1 : 0;
    const auto vector_dim = static_cast<size_t>(step_.index_vector_dim());
    p.component_stride = vector_dim < indices_.strides.size() ? indices_.strides[vector_dim] : 0;
    return true;
  }

  bool set_window(ScatterParameters& p) const {
    std::set<int64_t> dropped = dropped_;
    dropped.insert(step_.input_batching_dims().begin(), step_.input_batching_dims().end());
    std::vector<int64_t> shape, in_updates, in_out;
    int next = 0;
    for (size_t d = 0; d < out_.shape.size(); ++d) {
      if (dropped.count(static_cast<int64_t>(d))) continue;
      const auto u = static_cast<size_t>(step_.update_window_dims(next++));
      if (updates_.shape[u] > out_.shape[d]) return false;  // it would be cut at the edge
      shape.push_back(updates_.shape[u]);
      in_updates.push_back(updates_.strides[u]);
      in_out.push_back(out_.strides[d]);
    }
    const cpu::Iteration it = in_memory_order(shape, {in_out, in_updates});
    const std::optional<Space> space = space_of(it.shape);
    if (!space) return false;
    p.window = *space;
    put(it.strides[0], p.window_out);
    put(it.strides[1], p.window_updates);
    return true;
  }

  bool set_batch(ScatterParameters& p) const {
    std::vector<int64_t> shape;
    size_t u = 0;
    for (size_t d = 0; d < indices_.shape.size(); ++d) {
      if (static_cast<int64_t>(d) == step_.index_vector_dim()) continue;
      while (windows_.count(static_cast<int64_t>(u))) ++u;
      const size_t b = shape.size();
      if (b == static_cast<size_t>(kMostDims)) return false;
      shape.push_back(indices_.shape[d]);
      p.indices[b] = indices_.strides[d];
      p.updates[b] = updates_.strides[u++];
      for (int k = 0; k < step_.scatter_indices_batching_dims_size(); ++k)
        if (step_.scatter_indices_batching_dims(k) == static_cast<int64_t>(d))
          p.base[b] = out_.strides[static_cast<size_t>(step_.input_batching_dims(k))];
    }
    const std::optional<Space> space = space_of(shape);
    if (!space) return false;
    p.batch = *space;
    p.slots = std::bit_ceil(std::max(space->count, 1U));
    return true;
  }

  const plan::Scatter& step_;
  BoundView indices_, updates_, out_;
  std::set<int64_t> dropped_, windows_;
};

}  // namespace

KernelPtr make_scatter(const plan::Scatter& step, CudaDevice& device, LoadContext& context) {
  ScatterParameters p;
  const std::optional<std::string> type = kernel_type(step.operands(0).dtype());
  if (!type || !ScatterMaker(step).make(p)) return nullptr;
  const BoundView operand(step.operands(0)), out(step.outs(0));
  const bool in_place = operand.buffer == out.buffer && operand.offset == out.offset &&
                        operand.strides == out.strides;
  KernelPtr copy;
  if (!in_place) {
    copy = make_copy(device, out.shape, operand, out);
    if (!copy) return nullptr;
  }
  context.need_workspace(int64_t{8} * p.slots);
  return std::make_unique<ScatterKernel>(device, step, p, *type, std::move(copy));
}

}  // namespace spmd::cuda
