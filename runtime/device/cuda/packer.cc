#include "runtime/device/cuda/packer.h"

namespace spmd::cuda {
namespace {

std::optional<Float> float_of(plan::DType dtype) {
  switch (dtype) {
    case plan::F16:
      return Float::kF16;
    case plan::BF16:
      return Float::kBf16;
    case plan::F32:
      return Float::kF32;
    case plan::F64:
      return Float::kF64;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::unique_ptr<Packer> Packer::make(CudaDevice& device, const std::vector<int64_t>& shape,
                                     const std::vector<int64_t>& to, plan::DType to_type,
                                     const std::vector<int64_t>& from, plan::DType from_type,
                                     plan::DType round) {
  const cpu::Iteration it = in_memory_order(shape, {to, from});
  const std::optional<Space> space = space_of(it.shape);
  if (!space) return nullptr;
  const bool rounds = round != plan::INVALID && round != from_type;
  const auto fill = [&](auto& parameters) {
    parameters.space = *space;
    put(it.strides[0], parameters.out);
    put(it.strides[1], parameters.in);
  };
  if (to_type == from_type && !rounds) {
    const std::string name = "copy_" + std::to_string(plan::byte_size(to_type));
    std::unique_ptr<Packer> packer(new Packer(device.gpu(), device.library().find(name)));
    fill(packer->copy_);
    return packer;
  }
  const auto source = float_of(from_type), target = float_of(to_type),
             rounded = float_of(rounds ? round : from_type);
  // From F64, rounding to fewer bits would go through F32, and round twice.
  if (!source || !target || !rounded || (from_type == plan::F64 && to_type != plan::F32))
    return nullptr;
  std::unique_ptr<Packer> packer(new Packer(device.gpu(), device.library().find("convert")));
  packer->converts_ = true;
  fill(packer->convert_);
  packer->convert_.from = *source;
  packer->convert_.to = *target;
  packer->convert_.round = *rounded;
  return packer;
}

void Packer::run(std::byte* to, const std::byte* from) const {
  if (converts_) {
    gpu_.launch(function_, convert_.space.count, convert_, from, to);
  } else {
    gpu_.launch(function_, copy_.space.count, copy_, from, to);
  }
}

}  // namespace spmd::cuda
