#include "codegen/attention_kernels.h"
#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

plan::View read(Emitter& emitter, const Op& op, size_t operand) {
  const ValueId value = op.operands[operand];
  const View view = emitter.stored(value);
  return to_plan(fits_attention_kernel(view) ? view : emitter.dense(value), true);
}

plan::View written(Emitter& emitter, const Op& op, size_t result) {
  return to_plan(emitter.define(op.results[result]), true);
}

// What both steps are told and read.
template <typename Step>
Step inputs(Emitter& emitter, const Op& op) {
  Step step;
  step.set_scale(op.as<AttentionAttrs>().scale);
  step.set_causal(op.as<AttentionAttrs>().causal);
  *step.mutable_query() = read(emitter, op, 0);
  *step.mutable_key() = read(emitter, op, 1);
  *step.mutable_value() = read(emitter, op, 2);
  return step;
}

void lower_forward(Emitter& emitter, const Op& op) {
  plan::Attention step = inputs<plan::Attention>(emitter, op);
  *step.mutable_output() = written(emitter, op, 0);
  *step.mutable_statistics() = written(emitter, op, 1);
  *emitter.add_step().mutable_attention() = std::move(step);
}

void lower_backward(Emitter& emitter, const Op& op) {
  plan::AttentionBackward step = inputs<plan::AttentionBackward>(emitter, op);
  *step.mutable_output() = read(emitter, op, 3);
  *step.mutable_statistics() = to_plan(emitter.dense(op.operands[4]), true);
  *step.mutable_d_output() = read(emitter, op, 5);
  *step.mutable_d_query() = written(emitter, op, 0);
  *step.mutable_d_key() = written(emitter, op, 1);
  *step.mutable_d_value() = written(emitter, op, 2);
  *emitter.add_step().mutable_attention_backward() = std::move(step);
}

}  // namespace

void lower_attention(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  if (op.code == OpCode::kAttention) return lower_forward(emitter, op);
  lower_backward(emitter, op);
}

}  // namespace spmd::codegen
