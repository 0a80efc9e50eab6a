#include "codegen/attention_kernels.h"

#include <algorithm>

namespace spmd::codegen {
namespace {

// Of cuDNN 9.10's flash attention: elements of 16 bits, heads of a multiple of 8 and at most 128.
constexpr int64_t kLargestHead = 128;
bool fits(int64_t head_size) {
  return head_size > 0 && head_size % 8 == 0 && head_size <= kLargestHead;
}

}  // namespace

bool has_attention_kernel(const Function& fn, const Op& op) {
  const TensorType &query = fn.type(op.operands[0]), &value = fn.type(op.operands[2]);
  const bool is_narrow = query.dtype == DType::kBF16 || query.dtype == DType::kF16;
  const bool is_empty = query.num_elements() == 0 || value.num_elements() == 0;
  const bool is_single = query.dim(1) == 1 && value.dim(1) == 1;
  return is_narrow && !is_empty && !is_single && fits(query.dim(4)) && fits(value.dim(3));
}

}  // namespace spmd::codegen
