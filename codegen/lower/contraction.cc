#include <algorithm>

#include "codegen/lower/lower.h"

namespace spmd::codegen {
namespace {

Dims remaining_dims(size_t rank, const Dims& batch, const Dims& contracting) {
  Dims rest;
  for (int64_t d = 0; d < static_cast<int64_t>(rank); ++d)
    if (std::find(batch.begin(), batch.end(), d) == batch.end() &&
        std::find(contracting.begin(), contracting.end(), d) == contracting.end())
      rest.push_back(d);
  return rest;
}

Dims joined(const Dims& a, const Dims& b, const Dims& c) {
  Dims result = a;
  result.insert(result.end(), b.begin(), b.end());
  result.insert(result.end(), c.begin(), c.end());
  return result;
}

void set_sizes(google::protobuf::RepeatedField<int64_t>* field, const View& view,
               const Dims& dims) {
  for (int64_t d : dims) field->Add(view.shape[static_cast<size_t>(d)]);
}

// The type to which an operand is rounded first; a sum of several components keeps all of it.
DType rounding(DType wanted, int components, DType operand) {
  const bool narrows = components == 1 && is_float(wanted) && is_float(operand) &&
                       byte_size(wanted) < byte_size(operand);
  return narrows ? wanted : operand;
}

void lower_dot(Emitter& emitter, const Op& op) {
  const auto& attrs = op.as<DotAttrs>();
  const View lhs = emitter.stored(op.operands[0]);
  const View rhs = emitter.stored(op.operands[1]);
  const View out = emitter.define(op.results[0]);
  const Dims m = remaining_dims(lhs.shape.size(), attrs.lhs_batch, attrs.lhs_contracting);
  const Dims n = remaining_dims(rhs.shape.size(), attrs.rhs_batch, attrs.rhs_contracting);

  plan::Dot& dot = *emitter.add_step().mutable_dot();
  set_sizes(dot.mutable_batch(), lhs, attrs.lhs_batch);
  set_sizes(dot.mutable_m(), lhs, m);
  set_sizes(dot.mutable_n(), rhs, n);
  set_sizes(dot.mutable_k(), lhs, attrs.lhs_contracting);
  *dot.mutable_lhs() =
      to_plan(transposed(lhs, joined(attrs.lhs_batch, m, attrs.lhs_contracting)), false);
  *dot.mutable_rhs() =
      to_plan(transposed(rhs, joined(attrs.rhs_batch, n, attrs.rhs_contracting)), false);
  *dot.mutable_out() = to_plan(out, false);

  DType accumulation = accumulation_type(out.dtype);
  if (attrs.algorithm) {
    const DotAlgorithm& algorithm = *attrs.algorithm;
    accumulation = accumulation_type(algorithm.accumulation);
    const DType left = rounding(algorithm.lhs, algorithm.lhs_components, lhs.dtype);
    const DType right = rounding(algorithm.rhs, algorithm.rhs_components, rhs.dtype);
    if (left != lhs.dtype) dot.set_round_lhs(to_plan(left));
    if (right != rhs.dtype) dot.set_round_rhs(to_plan(right));
  }
  dot.set_accumulation(to_plan(accumulation));
}

}  // namespace

void lower_contraction(Emitter& emitter, OpId id) { lower_dot(emitter, emitter.fn().op(id)); }

}  // namespace spmd::codegen
