#include "codegen/lower/window.h"

#include "codegen/lower/reduction.h"

namespace spmd::codegen {
namespace {

plan::Window window(const WindowAttrs& attrs) {
  plan::Window result;
  const size_t rank = attrs.size.size();
  set_per_dimension(result.mutable_size(), attrs.size, rank, 1);
  set_per_dimension(result.mutable_stride(), attrs.stride, rank, 1);
  set_per_dimension(result.mutable_base_dilation(), attrs.base_dilation, rank, 1);
  set_per_dimension(result.mutable_window_dilation(), attrs.window_dilation, rank, 1);
  set_per_dimension(result.mutable_pad_low(), attrs.pad_low, rank, 0);
  set_per_dimension(result.mutable_pad_high(), attrs.pad_high, rank, 0);
  return result;
}

void lower_reduce_window(Emitter& emitter, const Op& op) {
  plan::ReduceWindow step;
  set_reduction(step, emitter, op, /*with_shapes=*/true);
  *step.mutable_window() = window(op.as<WindowAttrs>());
  emitter.add_step().mutable_reduce_window()->Swap(&step);
}

void lower_select_and_scatter(Emitter& emitter, const Op& op) {
  const View operand = emitter.stored(op.operands[0]);
  const View source = emitter.stored(op.operands[1]);
  const View init = emitter.stored(op.operands[2]);
  const View out = emitter.define(op.results[0]);
  plan::SelectAndScatter& step = *emitter.add_step().mutable_select_and_scatter();
  *step.mutable_operand() = to_plan(operand, true);
  *step.mutable_source() = to_plan(source, true);
  *step.mutable_init() = to_plan(init, false);
  *step.mutable_out() = to_plan(out, true);
  *step.mutable_window() = window(op.as<WindowAttrs>());
  *step.mutable_select() = region_program(emitter.fn(), op.regions[0], op);
  *step.mutable_scatter() = region_program(emitter.fn(), op.regions[1], op);
}

}  // namespace

void lower_window(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  if (op.code == OpCode::kReduceWindow) return lower_reduce_window(emitter, op);
  lower_select_and_scatter(emitter, op);
}

}  // namespace spmd::codegen
