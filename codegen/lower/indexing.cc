#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

void set(google::protobuf::RepeatedField<int64_t>* field, const Dims& values) {
  field->Add(values.begin(), values.end());
}

std::vector<View> scalars(Emitter& emitter, const Op& op, size_t first) {
  std::vector<View> views;
  for (size_t i = first; i < op.operands.size(); ++i)
    views.push_back(emitter.stored(op.operands[i]));
  return views;
}

void lower_dynamic_slice(Emitter& emitter, const Op& op) {
  const View operand = emitter.stored(op.operands[0]);
  const std::vector<View> starts = scalars(emitter, op, 1);
  const View out = emitter.define(op.results[0]);
  plan::DynamicSlice& step = *emitter.add_step().mutable_dynamic_slice();
  *step.mutable_operand() = to_plan(operand, true);
  for (const View& start : starts) *step.add_starts() = to_plan(start, false);
  *step.mutable_out() = to_plan(out, true);
}

void lower_dynamic_update_slice(Emitter& emitter, const Op& op) {
  const View operand = emitter.stored(op.operands[0]);
  const View update = emitter.stored(op.operands[1]);
  const std::vector<View> starts = scalars(emitter, op, 2);
  const View out = emitter.define(op.results[0]);
  plan::DynamicUpdateSlice& step = *emitter.add_step().mutable_dynamic_update_slice();
  *step.mutable_operand() = to_plan(operand, true);
  *step.mutable_update() = to_plan(update, true);
  for (const View& start : starts) *step.add_starts() = to_plan(start, false);
  *step.mutable_out() = to_plan(out, true);
}

void lower_gather(Emitter& emitter, const Op& op) {
  const auto& attrs = op.as<GatherAttrs>();
  const View operand = emitter.stored(op.operands[0]);
  const View indices = emitter.stored(op.operands[1]);
  const View out = emitter.define(op.results[0]);
  plan::Gather& step = *emitter.add_step().mutable_gather();
  *step.mutable_operand() = to_plan(operand, true);
  *step.mutable_indices() = to_plan(indices, true);
  *step.mutable_out() = to_plan(out, true);
  set(step.mutable_offset_dims(), attrs.offset_dims);
  set(step.mutable_collapsed_slice_dims(), attrs.collapsed_slice_dims);
  set(step.mutable_operand_batching_dims(), attrs.operand_batching_dims);
  set(step.mutable_start_indices_batching_dims(), attrs.start_indices_batching_dims);
  set(step.mutable_start_index_map(), attrs.start_index_map);
  step.set_index_vector_dim(attrs.index_vector_dim);
  set(step.mutable_slice_sizes(), attrs.slice_sizes);
}

void lower_scatter(Emitter& emitter, const Op& op) {
  const auto& attrs = op.as<ScatterAttrs>();
  const size_t count = op.results.size();
  std::vector<View> operands, updates, outs;
  for (size_t i = 0; i < count; ++i) {
    operands.push_back(emitter.stored(op.operands[i]));
    updates.push_back(emitter.stored(op.operands[count + 1 + i]));
  }
  const View indices = emitter.stored(op.operands[count]);
  for (ValueId result : op.results) outs.push_back(emitter.define(result));
  // Zeros, and whatever else repeats, a kernel of their own fills in faster than a scatter copies.
  for (size_t i = 0; i < count; ++i) {
    if (is_dense(operands[i])) continue;
    emitter.assign(op.operands[i], outs[i]);
    operands[i] = outs[i];
  }

  plan::Scatter& step = *emitter.add_step().mutable_scatter();
  for (size_t i = 0; i < count; ++i) {
    *step.add_operands() = to_plan(operands[i], true);
    *step.add_updates() = to_plan(updates[i], true);
    *step.add_outs() = to_plan(outs[i], true);
  }
  *step.mutable_indices() = to_plan(indices, true);
  set(step.mutable_update_window_dims(), attrs.update_window_dims);
  set(step.mutable_inserted_window_dims(), attrs.inserted_window_dims);
  set(step.mutable_input_batching_dims(), attrs.input_batching_dims);
  set(step.mutable_scatter_indices_batching_dims(), attrs.scatter_indices_batching_dims);
  set(step.mutable_scatter_dims_to_operand_dims(), attrs.scatter_dims_to_operand_dims);
  step.set_index_vector_dim(attrs.index_vector_dim);
  step.set_op(count == 1 ? named_reducer(emitter.fn(), op.regions[0]) : plan::NOP);
  *step.mutable_program() = region_program(emitter.fn(), op.regions[0], op);
}

}  // namespace

void lower_indexing(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  switch (op.code) {
    case OpCode::kDynamicSlice:
      return lower_dynamic_slice(emitter, op);
    case OpCode::kDynamicUpdateSlice:
      return lower_dynamic_update_slice(emitter, op);
    case OpCode::kGather:
      return lower_gather(emitter, op);
    case OpCode::kScatter:
      return lower_scatter(emitter, op);
    default:
      SPMD_UNREACHABLE("{} is no indexing op", name_of(op.code));
  }
}

}  // namespace spmd::codegen
