#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

Float drawn_type(plan::DType dtype) {
  switch (dtype) {
    case plan::F16:
      return Float::kF16;
    case plan::BF16:
      return Float::kBf16;
    case plan::F64:
      return Float::kF64;
    default:
      return Float::kF32;
  }
}

std::vector<int64_t> dense_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

}  // namespace

bool CudaDevice::draw(const RandomDraw& draw, const plan::Placement& placement,
                      const LocalBlock& block, std::byte* to) {
  const std::vector<int64_t> global = dense_strides(plan::dims_of(placement.global_shape())),
                             local = dense_strides(plan::dims_of(placement.local_shape()));
  const cpu::Iteration it = in_memory_order(block.size, {global, local});
  const std::optional<Space> space = space_of(it.shape);
  const bool draws = draws_values(draw, placement.dtype());
  if (draws && draw.bound > 0) return false;  // integers are few: batches and class numbers
  if (draws && !space) return false;
  const int64_t bytes =
      plan::element_count(placement.local_shape()) * plan::byte_size(placement.dtype());
  if (bytes == 0) return true;
  gpu_.check(
      gpu_.driver().MemsetD8Async(address_of(to), 0, static_cast<size_t>(bytes), gpu_.stream()),
      "clearing memory");
  if (!draws || space->count == 0) return true;
  DrawParameters p;
  p.space = *space;
  put(it.strides[0], p.global);
  put(it.strides[1], p.local);
  for (size_t d = 0; d < block.start.size(); ++d) p.first += block.start[d] * global[d];
  p.seed = draw.seed;
  p.deviation = draw.deviation;
  p.type = drawn_type(placement.dtype());
  gpu_.launch(library().find("draw_normal"), p.space.count, p, to);
  return true;
}

}  // namespace spmd::cuda
