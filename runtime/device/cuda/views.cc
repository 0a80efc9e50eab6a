#include "runtime/device/cuda/views.h"

#include <algorithm>
#include <numeric>

namespace spmd::cuda {

int64_t alignment_of(const plan::Plan& plan, const BoundView& view) {
  const plan::Buffer& buffer = plan.buffers(view.buffer);
  const int64_t bytes = std::gcd(int64_t{256}, view.offset);
  return buffer.kind() == plan::Buffer::ARENA ? std::gcd(bytes, buffer.offset()) : bytes;
}

std::optional<Space> space_of(const std::vector<int64_t>& shape) {
  if (shape.size() > static_cast<size_t>(kMostDims)) return std::nullopt;
  Space space;
  space.rank = static_cast<int32_t>(shape.size());
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] >= INT32_MAX || (count *= shape[d]) >= INT32_MAX) return std::nullopt;
    space.shape[d] = static_cast<uint32_t>(shape[d]);
  }
  space.count = static_cast<uint32_t>(count);
  return space;
}

void put(const std::vector<int64_t>& values, int64_t* to) {
  std::copy(values.begin(), values.end(), to);
}

void put(const google::protobuf::RepeatedField<int64_t>& values, int32_t* to) {
  std::transform(values.begin(), values.end(), to,
                 [](int64_t value) { return static_cast<int32_t>(value); });
}

cpu::Iteration in_memory_order(std::vector<int64_t> shape,
                               std::vector<std::vector<int64_t>> strides) {
  cpu::Iteration it{std::move(shape), std::move(strides)};
  if (it.count() == 0) return it;
  cpu::drop_unit_dims(it);
  cpu::sort_dims(it, 0);
  cpu::join_dims(it);
  return it;
}

std::optional<std::string> kernel_type(plan::DType dtype) {
  switch (dtype) {
    case plan::F16:
      return "f16";
    case plan::BF16:
      return "bf16";
    case plan::F32:
      return "f32";
    case plan::F64:
      return "f64";
    case plan::S8:
      return "s8";
    case plan::S16:
      return "s16";
    case plan::S32:
      return "s32";
    case plan::S64:
      return "s64";
    case plan::BOOL:
    case plan::U8:
      return "u8";
    case plan::U16:
      return "u16";
    case plan::U32:
      return "u32";
    case plan::U64:
      return "u64";
    default:
      return std::nullopt;
  }
}

namespace {

std::optional<Combine> combine_of(plan::ScalarOp op, plan::DType dtype) {
  const bool is_float = plan::is_float(dtype), is_bool = dtype == plan::BOOL;
  switch (op) {
    case plan::ADD:
      return is_bool ? Combine::kOr : Combine::kAdd;
    case plan::MULTIPLY:
      return is_bool ? Combine::kAnd : Combine::kMultiply;
    case plan::MAXIMUM:
      return Combine::kMaximum;
    case plan::MINIMUM:
      return Combine::kMinimum;
    case plan::AND:
      if (is_float) return std::nullopt;
      return Combine::kAnd;
    case plan::OR:
      if (is_float) return std::nullopt;
      return Combine::kOr;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<Combine> combine_of(plan::ScalarOp op, const plan::ScalarProgram& program,
                                  plan::DType dtype) {
  if (op != plan::NOP) return combine_of(op, dtype);
  if (program.inputs_size() != 2 || program.outputs_size() != 1) return std::nullopt;
  if (program.outputs(0) == 1) return Combine::kReplace;
  if (program.instructions_size() != 1 || program.outputs(0) != 2) return std::nullopt;
  const plan::Instruction& only = program.instructions(0);
  if (only.args_size() != 2 || only.args(0) + only.args(1) != 1 || only.dtype() != dtype)
    return std::nullopt;
  return combine_of(only.op(), dtype);
}

}  // namespace spmd::cuda
