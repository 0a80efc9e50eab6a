// Dynamic slices and gathers. Scatters are in scatter.cc.
#include "runtime/device/cpu/indexing.h"

#include <algorithm>
#include <set>

#include "runtime/device/cpu/vector_loops.h"

namespace spmd::cpu {

BoxCopy::BoxCopy(std::vector<int64_t> shape, std::vector<int64_t> out_strides,
                 std::vector<int64_t> in_strides, int64_t element_bytes)
    : it_{std::move(shape), {std::move(out_strides), std::move(in_strides)}},
      empty_(it_.count() == 0),
      bytes_(element_bytes) {
  if (empty_) it_ = {{1}, {{0}, {0}}};
  drop_unit_dims(it_);
  sort_dims(it_, 0);
  join_dims(it_);
  if (it_.rank() == 0) it_ = {{1}, {{1}, {1}}};
  odometer_ = std::make_unique<Odometer>(it_, it_.rank() - 1);
  for (int64_t bytes = element_bytes; bytes > 1; bytes /= 2) ++log2_;
}

void BoxCopy::run(std::byte* out, const std::byte* in) {
  if (empty_) return;
  const size_t last = it_.rank() - 1;
  odometer_->reset();
  do {
    loops().copy[log2_](out + odometer_->offset(0) * bytes_, it_.stride(0, last),
                        in + odometer_->offset(1) * bytes_, it_.stride(1, last), it_.shape[last]);
  } while (odometer_->next());
}

namespace {

// Bytes from the operand's start to a slice at clamped start indices.
int64_t slice_offset(const RunContext& context, const BoundView& whole,
                     const std::vector<int64_t>& sizes, const std::vector<BoundView>& starts) {
  int64_t offset = 0;
  for (size_t d = 0; d < starts.size(); ++d) {
    const int64_t start = read_integer(starts[d].data(context), starts[d].dtype);
    offset += std::clamp<int64_t>(start, 0, whole.shape[d] - sizes[d]) * whole.strides[d];
  }
  return offset * whole.element_bytes;
}

class DynamicSliceKernel : public Kernel {
 public:
  explicit DynamicSliceKernel(const plan::DynamicSlice& step)
      : operand_(step.operand()),
        out_(step.out()),
        starts_(step.starts().begin(), step.starts().end()),
        copy_(out_.shape, out_.strides, operand_.strides, out_.element_bytes) {}

  void run(const RunContext& context) override {
    copy_.run(out_.data(context),
              operand_.data(context) + slice_offset(context, operand_, out_.shape, starts_));
  }

 private:
  BoundView operand_, out_;
  std::vector<BoundView> starts_;
  BoxCopy copy_;
};

class DynamicUpdateSliceKernel : public Kernel {
 public:
  explicit DynamicUpdateSliceKernel(const plan::DynamicUpdateSlice& step)
      : operand_(step.operand()),
        update_(step.update()),
        out_(step.out()),
        starts_(step.starts().begin(), step.starts().end()),
        whole_(make_copy(out_.shape, operand_, out_)),
        part_(update_.shape, out_.strides, update_.strides, out_.element_bytes) {}

  void run(const RunContext& context) override {
    // The start indices may lie in what the result overwrites.
    const int64_t offset = slice_offset(context, out_, update_.shape, starts_);
    const bool in_place =
        operand_.data(context) == out_.data(context) && operand_.strides == out_.strides;
    if (!in_place) whole_->run(context);
    part_.run(out_.data(context) + offset, update_.data(context));
  }

 private:
  BoundView operand_, update_, out_;
  std::vector<BoundView> starts_;
  KernelPtr whole_;
  BoxCopy part_;
};

class GatherKernel : public Kernel {
 public:
  explicit GatherKernel(const plan::Gather& step)
      : operand_(step.operand()), indices_(step.indices()), out_(step.out()) {
    const std::set<int64_t> offsets(step.offset_dims().begin(), step.offset_dims().end());
    std::set<int64_t> dropped(step.collapsed_slice_dims().begin(),
                              step.collapsed_slice_dims().end());
    dropped.insert(step.operand_batching_dims().begin(), step.operand_batching_dims().end());
    std::vector<int64_t> slice, slice_out, slice_in;
    for (size_t d = 0; d < operand_.shape.size(); ++d) {
      if (dropped.count(static_cast<int64_t>(d))) continue;
      slice.push_back(step.slice_sizes(static_cast<int>(d)));
      slice_in.push_back(operand_.strides[d]);
    }
    for (size_t d = 0; d < out_.shape.size(); ++d)
      if (offsets.count(static_cast<int64_t>(d))) slice_out.push_back(out_.strides[d]);
    copy_ = std::make_unique<BoxCopy>(slice, slice_out, slice_in, out_.element_bytes);
    make_batch(step, offsets);
    for (int i = 0; i < step.start_index_map_size(); ++i) {
      const auto d = static_cast<size_t>(step.start_index_map(i));
      components_.push_back(
          {operand_.strides[d], operand_.shape[d] - step.slice_sizes(step.start_index_map(i))});
    }
    const auto vector_dim = static_cast<size_t>(step.index_vector_dim());
    component_stride_ = vector_dim < indices_.strides.size() ? indices_.strides[vector_dim] : 0;
  }

  void run(const RunContext& context) override {
    if (batch_.count() == 0) return;
    const std::byte* operand = operand_.data(context);
    const std::byte* indices = indices_.data(context);
    std::byte* out = out_.data(context);
    odometer_->reset();
    do {
      int64_t offset = odometer_->offset(2);
      const std::byte* index = indices + odometer_->offset(0) * indices_.element_bytes;
      for (const Component& component : components_) {
        const int64_t start = read_integer(index, indices_.dtype);
        offset += std::clamp<int64_t>(start, 0, component.limit) * component.stride;
        index += component_stride_ * indices_.element_bytes;
      }
      copy_->run(out + odometer_->offset(1) * out_.element_bytes,
                 operand + offset * operand_.element_bytes);
    } while (odometer_->next());
  }

 private:
  struct Component {
    int64_t stride, limit;
  };

  // The batch dimensions, walked through indices (0), result (1) and operand (2).
  void make_batch(const plan::Gather& step, const std::set<int64_t>& offsets) {
    batch_.strides.resize(3);
    size_t out_dim = 0;
    for (size_t d = 0; d < indices_.shape.size(); ++d) {
      if (static_cast<int64_t>(d) == step.index_vector_dim()) continue;
      while (offsets.count(static_cast<int64_t>(out_dim))) ++out_dim;
      batch_.shape.push_back(indices_.shape[d]);
      batch_.strides[0].push_back(indices_.strides[d]);
      batch_.strides[1].push_back(out_.strides[out_dim++]);
      int64_t operand_stride = 0;
      for (int i = 0; i < step.start_indices_batching_dims_size(); ++i)
        if (step.start_indices_batching_dims(i) == static_cast<int64_t>(d))
          operand_stride = operand_.strides[static_cast<size_t>(step.operand_batching_dims(i))];
      batch_.strides[2].push_back(operand_stride);
    }
    odometer_ = std::make_unique<Odometer>(batch_, batch_.rank());
  }

  BoundView operand_, indices_, out_;
  std::unique_ptr<BoxCopy> copy_;
  Iteration batch_;
  std::unique_ptr<Odometer> odometer_;
  std::vector<Component> components_;
  int64_t component_stride_ = 0;
};

}  // namespace

KernelPtr make_dynamic_slice(const plan::DynamicSlice& step, LoadContext&) {
  return std::make_unique<DynamicSliceKernel>(step);
}

KernelPtr make_dynamic_update_slice(const plan::DynamicUpdateSlice& step, LoadContext&) {
  return std::make_unique<DynamicUpdateSliceKernel>(step);
}

KernelPtr make_gather(const plan::Gather& step, LoadContext&) {
  return std::make_unique<GatherKernel>(step);
}

}  // namespace spmd::cpu
