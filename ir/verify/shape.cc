#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

// Elements of one width keep their shape. Of a wider type, an element becomes a last dimension of
// narrower ones, and back.
void verify_bitcast(const OpView& v) {
  v.require_counts(1, 1);
  const TensorType &from = v.operand(0), &to = v.result(0);
  v.require(is_complex(from.dtype) == is_complex(to.dtype),
            "{} and {} are not both complex numbers", from, to);
  if (to.dtype == DType::kBool && from.dtype != DType::kBool) {
    v.fail(fmt::format("booleans are made of {}", from), "compare with zero instead");
  }
  const bool widens = bit_width(to.dtype) > bit_width(from.dtype);
  const TensorType &wide = widens ? to : from, &narrow = widens ? from : to;
  Dims expected = wide.shape;
  const int64_t ratio = bit_width(wide.dtype) / bit_width(narrow.dtype);
  if (ratio > 1) expected.push_back(ratio);
  v.require(narrow.shape == expected, "{} becomes {}, expected {} beside {}", from, to,
            narrow.with_shape(expected), wide);
}

void verify_broadcast(const OpView& v) {
  v.require_counts(1, 1);
  const TensorType &from = v.operand(0), &to = v.result(0);
  const Dims& dims = v.op.as<BroadcastInDimAttrs>().dims;
  v.require(from.dtype == to.dtype, "element types of {} and {} differ", from, to);
  v.require(dims.size() == from.shape.size(), "has {} dims, expected one per dimension of {}",
            dims.size(), from);
  std::vector<bool> seen(to.shape.size(), false);
  for (size_t i = 0; i < dims.size(); ++i) {
    v.require(dims[i] >= 0 && dims[i] < to.rank(), "dimension {} is out of range for {}", dims[i],
              to);
    v.require(!seen[static_cast<size_t>(dims[i])], "dimension {} occurs twice", dims[i]);
    seen[static_cast<size_t>(dims[i])] = true;
    v.require(from.shape[i] == 1 || from.shape[i] == to.dim(dims[i]),
              "dimension {} of {} does not fit dimension {} of {}", i, from, dims[i], to);
  }
}

void verify_iota(const OpView& v) {
  v.require_counts(0, 1);
  const int64_t dim = v.op.as<IotaAttrs>().dim;
  v.require(dim >= 0 && dim < v.result(0).rank(), "dimension {} is out of range for {}", dim,
            v.result(0));
  v.require(contains(kNumbers, v.result(0).dtype), "counts in {}, expected numbers", v.result(0));
}

void verify_reshape(const OpView& v) {
  v.require_counts(1, 1);
  const TensorType &from = v.operand(0), &to = v.result(0);
  v.require(from.dtype == to.dtype, "element types of {} and {} differ", from, to);
  v.require(from.num_elements() == to.num_elements(), "{} has {} elements, {} has {}", from,
            from.num_elements(), to, to.num_elements());
}

}  // namespace

void verify_shape(const OpView& v) {
  switch (v.op.code) {
    case OpCode::kBitcastConvert:
      return verify_bitcast(v);
    case OpCode::kBroadcastInDim:
      return verify_broadcast(v);
    case OpCode::kIota:
      return verify_iota(v);
    case OpCode::kPad:
      return v.require_type("the padding value", v.operand(1), {v.operand(0).dtype, {}});
    case OpCode::kReshape:
      return verify_reshape(v);
    default:
      return;
  }
}

}  // namespace spmd::verifier
