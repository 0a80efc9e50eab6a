#include "codegen/attention_kernels.h"

#include "runtime/plan/plan.h"

namespace spmd::codegen {
namespace {

// What decides.
struct Problem {
  plan::DType dtype;
  int64_t queries, keys, head_size, width;
  bool is_empty;
};

bool is_narrow(plan::DType dtype) { return dtype == plan::BF16 || dtype == plan::F16; }

// Of cuDNN 9.10's flash attention: elements of 16 bits, heads of a multiple of 8 and at most 128.
bool library_takes(const Problem& problem) {
  const auto fits = [](int64_t size) { return size > 0 && size % 8 == 0 && size <= 128; };
  const bool is_single = problem.queries == 1 && problem.keys == 1;
  return is_narrow(problem.dtype) && !is_single && fits(problem.head_size) && fits(problem.width);
}

// A block has the vectors of some positions in shared memory, whole.
bool compiled_takes(const Problem& problem) {
  const auto fits = [](int64_t size) { return size > 0 && size <= 256; };
  return (is_narrow(problem.dtype) || problem.dtype == plan::F32) && fits(problem.head_size) &&
         fits(problem.width);
}

AttentionKernel choose(const Problem& problem, const AttentionTarget& target) {
  if (problem.is_empty) return AttentionKernel::kNone;
  if (target.library && library_takes(problem)) return AttentionKernel::kLibrary;
  return target.compiler && compiled_takes(problem) ? AttentionKernel::kCompiled
                                                    : AttentionKernel::kNone;
}

}  // namespace

AttentionKernel attention_kernel(const Function& fn, const Op& op, const AttentionTarget& target) {
  const TensorType &query = fn.type(op.operands[0]), &value = fn.type(op.operands[2]);
  return choose({to_plan(query.dtype), query.dim(1), value.dim(1), query.dim(4), value.dim(3),
                 query.num_elements() == 0 || value.num_elements() == 0},
                target);
}

AttentionKernel attention_kernel(const plan::Step& step, const AttentionTarget& target) {
  const bool is_forward = step.has_attention();
  const plan::View &query =
                       is_forward ? step.attention().query() : step.attention_backward().query(),
                   &value =
                       is_forward ? step.attention().value() : step.attention_backward().value();
  return choose(
      {query.dtype(), query.shape(1), value.shape(1), query.shape(4), value.shape(3),
       plan::element_count(query.shape()) == 0 || plan::element_count(value.shape()) == 0},
      target);
}

bool fits_attention_kernel(const View& view) {
  constexpr int64_t kVector = 8;  // numbers of 16 bits that are loaded at once
  const size_t rank = view.shape.size();
  if (view.strides[rank - 1] != 1) return false;
  if (!is_narrow(to_plan(view.dtype))) return true;
  if (view.offset % kVector != 0) return false;
  for (size_t d = 0; d + 1 < rank; ++d) {
    if (view.shape[d] > 1 && (view.strides[d] <= 0 || view.strides[d] % kVector != 0)) return false;
  }
  return rank != 5 || view.shape[2] == 1 || view.shape[3] == 1 ||
         view.strides[2] == view.shape[3] * view.strides[3];
}

}  // namespace spmd::codegen
