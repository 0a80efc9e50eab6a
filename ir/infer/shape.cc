#include "ir/infer/checks.h"
#include "ir/infer/families.h"
#include "support/error.h"

namespace spmd::infer {
namespace {

TensorType infer_concatenate(const Types& in, const ConcatenateAttrs& attrs) {
  require(!in.empty(), "concatenate needs an operand");
  TensorType result = in[0];
  require_dim(attrs.dim, result.rank(), "dimension");
  const auto at = static_cast<size_t>(attrs.dim);
  for (size_t i = 1; i < in.size(); ++i) {
    require(in[i].rank() == result.rank() && in[i].dtype == result.dtype,
            "concatenate of different ranks or element types");
    for (size_t d = 0; d < result.shape.size(); ++d) {
      require(d == at || in[i].shape[d] == result.shape[d],
              "concatenate of {} and {} along dimension {}", in[0], in[i], attrs.dim);
    }
    result.shape[at] += in[i].shape[at];
    require(result.shape[at] <= kLargest, "concatenate to a size of {}, which is too large",
            result.shape[at]);
  }
  return result;
}

TensorType infer_pad(const Types& in, const PadAttrs& attrs) {
  require_count(in, 2);
  TensorType result = in[0];
  const size_t rank = result.shape.size();
  require(attrs.low.size() == rank && attrs.high.size() == rank && attrs.interior.size() == rank,
          "pad needs one low, high and interior per dimension");
  for (size_t i = 0; i < rank; ++i) {
    require(attrs.interior[i] >= 0 && attrs.interior[i] < kLargestStep,
            "interior padding of {} is negative or too large", attrs.interior[i]);
    require_padding(attrs.low[i], attrs.high[i]);
    result.shape[i] =
        attrs.low[i] + dilated(result.shape[i], attrs.interior[i] + 1) + attrs.high[i];
    require(result.shape[i] >= 0, "pad to a negative size");
  }
  return result;
}

TensorType infer_slice(const Types& in, const SliceAttrs& attrs) {
  require_count(in, 1);
  TensorType result = in[0];
  const size_t rank = result.shape.size();
  require(attrs.start.size() == rank && attrs.limit.size() == rank && attrs.stride.size() == rank,
          "slice needs one start, limit and stride per dimension");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t start = attrs.start[i], limit = attrs.limit[i], stride = attrs.stride[i];
    require(start >= 0 && start <= limit && limit <= result.shape[i] && stride > 0,
            "slice [{}:{}:{}] does not fit dimension {} of {}", start, limit, stride, i, in[0]);
    require(stride <= kLargestStep, "a stride of {} is too large", stride);
    result.shape[i] = limit == start ? 0 : (limit - start - 1) / stride + 1;
  }
  return result;
}

TensorType infer_transpose(const Types& in, const TransposeAttrs& attrs) {
  require_count(in, 1);
  require(attrs.permutation.size() == in[0].shape.size(),
          "the permutation has not one entry per dimension");
  require_dims(attrs.permutation, in[0].rank(), "permutation entry");
  TensorType result = in[0];
  for (size_t i = 0; i < result.shape.size(); ++i)
    result.shape[i] = in[0].dim(attrs.permutation[i]);
  return result;
}

}  // namespace

Types infer_shape(OpCode code, const Types& in, const Attrs& attrs) {
  switch (code) {
    case OpCode::kConcatenate:
      return {infer_concatenate(in, std::get<ConcatenateAttrs>(attrs))};
    case OpCode::kConstant:
      return {std::get<ConstantAttrs>(attrs).value.type()};
    case OpCode::kPad:
      return {infer_pad(in, std::get<PadAttrs>(attrs))};
    case OpCode::kReverse:
      require_count(in, 1);
      require_dims(std::get<ReverseAttrs>(attrs).dims, in[0].rank(), "reversed dimension");
      return {in[0]};
    case OpCode::kSlice:
      return {infer_slice(in, std::get<SliceAttrs>(attrs))};
    case OpCode::kTranspose:
      return {infer_transpose(in, std::get<TransposeAttrs>(attrs))};
    default:
      SPMD_UNREACHABLE("the type of {} cannot be inferred", name_of(code));
  }
}

}  // namespace spmd::infer
