#include "runtime/device/cuda/cuda_device.h"
#include "runtime/device/cuda/views.h"

namespace spmd::cuda {
namespace {

class RngKernel : public Kernel {
 public:
  RngKernel(CudaDevice& device, const plan::RngBitGenerator& step,
            const RandomParameters& parameters)
      : gpu_(device.gpu()),
        state_(step.state()),
        state_out_(step.state_out()),
        out_(step.out()),
        parameters_(parameters),
        fill_(device.library().find(step.algorithm() == plan::RngBitGenerator::THREE_FRY
                                        ? "random_threefry"
                                        : "random_philox")),
        advance_(device.library().find("random_advance")) {}

  void run(const RunContext& context) override {
    const std::byte* state = state_.data(context);
    if (parameters_.space.count > 0)
      gpu_.launch(fill_, parameters_.space.count, parameters_, state, out_.data(context));
    gpu_.launch(advance_, 1, parameters_, state, state_out_.data(context));
  }

 private:
  const Gpu& gpu_;
  BoundView state_, state_out_, out_;
  RandomParameters parameters_;
  CUfunction fill_, advance_;
};

// Two neighbours along one dimension share a counter: the first dimension of even size, else the
// largest.
size_t split_dim(const std::vector<int64_t>& shape) {
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] % 2 == 0) return d;
  size_t largest = 0;
  for (size_t d = 1; d < shape.size(); ++d)
    if (shape[d] > shape[largest]) largest = d;
  return largest;
}

}  // namespace

KernelPtr make_rng_bit_generator(const plan::RngBitGenerator& step, CudaDevice& device) {
  const BoundView state(step.state()), state_out(step.state_out()), out(step.out());
  const std::optional<Space> space = space_of(out.shape);
  if (!space || plan::is_sub_byte_int(out.dtype) || out.element_bytes > 8) return nullptr;
  RandomParameters p;
  p.space = *space;
  put(out.strides, p.out);
  p.element_bytes = static_cast<int32_t>(out.element_bytes);
  p.state_words = static_cast<int32_t>(state.shape[0]);
  p.state_stride = state.strides[0];
  p.state_out_stride = state_out.strides[0];
  const int64_t count = space->count;
  if (step.algorithm() != plan::RngBitGenerator::THREE_FRY) {
    const int64_t per_block = out.element_bytes == 8 ? 2 : 4;
    p.counters = static_cast<uint64_t>((count + per_block - 1) / per_block);
  } else if (out.element_bytes == 8) {
    p.counters = static_cast<uint64_t>(count);
  } else {
    const size_t split = split_dim(out.shape);
    int64_t size = 1, inner = 1;
    for (size_t d = split; d < out.shape.size(); ++d) (d == split ? size : inner) *= out.shape[d];
    p.size = static_cast<uint32_t>(size);
    p.inner = static_cast<uint32_t>(inner);
    const int64_t outer = count == 0 ? 0 : count / (size * inner);
    p.counters = static_cast<uint64_t>(outer * ((size + 1) / 2) * inner);
  }
  return std::make_unique<RngKernel>(device, step, p);
}

}  // namespace spmd::cuda
