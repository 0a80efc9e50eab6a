// Ops whose sizes are operands: with constant sizes they are the static ones.
#include <algorithm>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

Values iota(Expansion& e) {
  return {e.b.iota(e.result_type().with_shape(e.result_shape(0)), e.attrs<IotaAttrs>().dim)};
}

Values reshape(Expansion& e) {
  Dims shape = e.result_shape(1);
  const int64_t elements = e.operand_type(0).num_elements();
  int64_t product = 1;
  for (int64_t size : shape) {
    e.require(size >= 0 && (size == 0 || product <= kMaxTensorBytes / size), "a size out of range");
    product *= size;
  }
  e.require(product == elements,
            fmt::format("{} elements do not fill a shape of {}", elements, product));
  return {e.b.reshape(e.operand(0), std::move(shape))};
}

Values broadcast(Expansion& e) {
  return {e.b.broadcast(e.operand(0), e.result_shape(1), e.attrs<BroadcastInDimAttrs>().dims)};
}

Values pad(Expansion& e) {
  PadAttrs attrs{e.integers(2, "low padding"), e.integers(3, "high padding"),
                 e.integers(4, "interior padding")};
  return {e.b.value(OpCode::kPad, {e.operand(0), e.operand(1)}, std::move(attrs))};
}

Values gather(Expansion& e) {
  GatherAttrs attrs = e.attrs<GatherAttrs>();
  attrs.slice_sizes = e.integers(2, "the slice sizes");
  return {e.b.value(OpCode::kGather, {e.operand(0), e.operand(1)}, std::move(attrs))};
}

Values convolution(Expansion& e) {
  ConvolutionAttrs attrs = e.attrs<ConvolutionAttrs>();
  const Dims padding = e.integers(2, "the padding");
  e.require(padding.size() == 2 * attrs.input_spatial.size(),
            "the padding has not one pair per spatial dimension");
  attrs.pad_low.clear();
  attrs.pad_high.clear();
  for (size_t i = 0; i < padding.size(); i += 2) {
    attrs.pad_low.push_back(padding[i]);
    attrs.pad_high.push_back(padding[i + 1]);
  }
  const std::vector operands = {e.operand(0), e.operand(1)};
  Attrs variant = std::move(attrs);
  TensorType type = infer_types(e.fn, OpCode::kConvolution, operands, variant)[0];
  type.dtype = e.result_type().dtype;
  const OpId id = e.b.create(OpCode::kConvolution, operands, {type}, std::move(variant));
  return {e.fn.op(id).results[0]};
}

// Constant bounds are a slice; starts that vary, with a known result, a dynamic slice.
Values slice(Expansion& e) {
  const ValueId operand = e.operand(0);
  const Dims stride = e.integers(3, "the strides");
  const bool constant = constant_value(e.module, e.fn, e.operand(1)).has_value();
  const Dims& shape = e.result_type().shape;
  const bool known = std::none_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; });
  const bool unit = std::all_of(stride.begin(), stride.end(), [](int64_t s) { return s == 1; });
  if (constant || !known || !unit) {
    return {e.b.slice(operand, e.integers(1, "the start indices"),
                      e.integers(2, "the limit indices"), stride)};
  }
  std::vector<ValueId> operands = {operand};
  for (int64_t d = 0; d < e.type(operand).rank(); ++d) {
    operands.push_back(e.b.reshape(e.b.slice(e.operand(1), {d}, {d + 1}), {}));
  }
  return {e.b.value(OpCode::kDynamicSlice, std::move(operands), DynamicSliceAttrs{shape})};
}

int64_t checked_dim(const Expansion& e) {
  const int64_t dim = e.attrs<DimensionAttrs>().dim;
  e.require(dim >= 0 && dim < e.operand_type(0).rank(),
            fmt::format("dimension {} is out of range for {}", dim, to_string(e.operand_type(0))));
  return dim;
}

Values dimension_size(Expansion& e) {
  const int64_t size = e.operand_type(0).dim(checked_dim(e));
  if (size < 0) {
    e.fail(fmt::format("a dimension of {} is not known", to_string(e.operand_type(0))),
           "export the program for fixed shapes");
  }
  return {e.b.scalar(DType::kS32, static_cast<double>(size))};
}

// Only to what it is already: a tensor has one size here.
Values set_dimension_size(Expansion& e) {
  const int64_t size = e.operand_type(0).dim(checked_dim(e));
  const Dims wanted = e.integers(1, "the size");
  if (wanted.size() != 1 || wanted[0] != size) {
    e.fail(fmt::format("gives a dimension of size {} fewer elements", size),
           "bounded dynamic sizes are not supported: mask the elements, or slice");
  }
  return {e.operand(0)};
}

}  // namespace

Values expand_dynamic(Expansion& e) {
  switch (e.op().code) {
    case OpCode::kDynamicBroadcastInDim:
      return broadcast(e);
    case OpCode::kDynamicConv:
      return convolution(e);
    case OpCode::kDynamicGather:
      return gather(e);
    case OpCode::kDynamicIota:
      return iota(e);
    case OpCode::kDynamicPad:
      return pad(e);
    case OpCode::kDynamicReshape:
      return reshape(e);
    case OpCode::kGetDimensionSize:
      return dimension_size(e);
    case OpCode::kRealDynamicSlice:
      return slice(e);
    case OpCode::kSetDimensionSize:
      return set_dimension_size(e);
    default:
      SPMD_UNREACHABLE("{} is not dynamic", name_of(e.op().code));
  }
}

}  // namespace spmd::expand
