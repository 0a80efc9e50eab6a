#include "codegen/lower/lower.h"

namespace spmd::codegen {
namespace {

void lower_sort(Emitter& emitter, const Op& op) {
  std::vector<View> inputs, outputs;
  for (ValueId operand : op.operands) inputs.push_back(emitter.stored(operand));
  for (ValueId result : op.results) outputs.push_back(emitter.define(result));
  plan::Sort& step = *emitter.add_step().mutable_sort();
  step.mutable_shape()->Add(inputs[0].shape.begin(), inputs[0].shape.end());
  step.set_dim(op.as<SortAttrs>().dim);
  step.set_stable(op.as<SortAttrs>().is_stable);
  *step.mutable_comparator() = region_program(emitter.fn(), op.regions[0], op);
  for (const View& input : inputs) *step.add_inputs() = to_plan(input, false);
  for (const View& output : outputs) *step.add_outputs() = to_plan(output, false);
}

void lower_top_k(Emitter& emitter, const Op& op) {
  const View operand = emitter.stored(op.operands[0]);
  const View values = emitter.define(op.results[0]);
  const View indices = emitter.define(op.results[1]);
  plan::TopK& step = *emitter.add_step().mutable_top_k();
  *step.mutable_operand() = to_plan(operand, true);
  step.set_k(op.as<TopKAttrs>().k);
  *step.mutable_values() = to_plan(values, true);
  *step.mutable_indices() = to_plan(indices, true);
}

}  // namespace

void lower_ordering(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  if (op.code == OpCode::kSort) return lower_sort(emitter, op);
  lower_top_k(emitter, op);
}

}  // namespace spmd::codegen
