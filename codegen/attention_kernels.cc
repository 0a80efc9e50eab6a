#include "codegen/attention_kernels.h"

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

bool fits_attention_kernel(const View& view) {
  constexpr int64_t kVector = 8;  // numbers of 16 bits that are loaded at once
  const size_t rank = view.shape.size();
  if (view.offset % kVector != 0 || view.strides[rank - 1] != 1) return false;
  for (size_t d = 0; d + 1 < rank; ++d) {
    if (view.shape[d] > 1 && (view.strides[d] <= 0 || view.strides[d] % kVector != 0)) return false;
  }
  return rank != 5 || view.shape[2] == 1 || view.shape[3] == 1 ||
         view.strides[2] == view.shape[3] * view.strides[3];
}

}  // namespace spmd::codegen
