#include "runtime/device/cpu/kernel.h"

#include <cstring>

#include "support/error.h"

namespace spmd::cpu {
namespace {

template <typename T>
int64_t read(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return static_cast<int64_t>(value);
}

}  // namespace

int64_t read_integer(const std::byte* data, plan::DType dtype) {
  switch (dtype) {
    case plan::BOOL:
    case plan::U2:
    case plan::U4:
    case plan::U8:
      return read<uint8_t>(data);
    case plan::S2:
    case plan::S4:
    case plan::S8:
      return read<int8_t>(data);
    case plan::S16:
      return read<int16_t>(data);
    case plan::U16:
      return read<uint16_t>(data);
    case plan::S32:
      return read<int32_t>(data);
    case plan::U32:
      return read<uint32_t>(data);
    case plan::S64:
      return read<int64_t>(data);
    case plan::U64: {
      // As an index, what does not fit is far out of range either way.
      const auto value = static_cast<uint64_t>(read<uint64_t>(data));
      return value > INT64_MAX ? INT64_MAX : static_cast<int64_t>(value);
    }
    default:
      SPMD_UNREACHABLE("{} is no integer", plan::dtype_name(dtype));
  }
}

KernelPtr make_kernel(const plan::Step& step, LoadContext& context) {
  context.op = step.op();
  switch (step.kind_case()) {
    case plan::Step::kElementwise:
      return make_elementwise(step.elementwise(), context);
    case plan::Step::kReduce:
      return make_reduce(step.reduce(), context);
    case plan::Step::kDot:
      return make_dot(step.dot(), context);
    case plan::Step::kConvolution:
      return make_convolution(step.convolution(), context);
    case plan::Step::kGather:
      return make_gather(step.gather(), context);
    case plan::Step::kScatter:
      return make_scatter(step.scatter(), context);
    case plan::Step::kDynamicSlice:
      return make_dynamic_slice(step.dynamic_slice(), context);
    case plan::Step::kDynamicUpdateSlice:
      return make_dynamic_update_slice(step.dynamic_update_slice(), context);
    case plan::Step::kReduceWindow:
      return make_reduce_window(step.reduce_window(), context);
    case plan::Step::kSelectAndScatter:
      return make_select_and_scatter(step.select_and_scatter(), context);
    case plan::Step::kSort:
      return make_sort(step.sort(), context);
    case plan::Step::kTopK:
      return make_top_k(step.top_k(), context);
    case plan::Step::kFft:
      return make_fft(step.fft(), context);
    case plan::Step::kCholesky:
      return make_cholesky(step.cholesky(), context);
    case plan::Step::kTriangularSolve:
      return make_triangular_solve(step.triangular_solve(), context);
    case plan::Step::kRngBitGenerator:
      return make_rng_bit_generator(step.rng_bit_generator(), context);
    case plan::Step::kFused:
      return make_fused(step.fused(), context);
    case plan::Step::kGrouped:
      return make_grouped(step.grouped(), context);
    case plan::Step::kAttention:
      return make_attention(step.attention(), context);
    case plan::Step::kAttentionBackward:
      return make_attention_backward(step.attention_backward(), context);
    case plan::Step::kAxisIndex:
    case plan::Step::kCollective:
    case plan::Step::kWhile:
    case plan::Step::kBranch:
    case plan::Step::KIND_NOT_SET:
      break;
  }
  SPMD_UNREACHABLE("{} is no kernel", plan::kind_name(step));
}

}  // namespace spmd::cpu
