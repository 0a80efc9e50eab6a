#include "codegen/lower/lower.h"
#include "support/error.h"

namespace spmd::codegen {
namespace {

void set_groups(plan::Collective& step, const CollectiveGroups& groups) {
  *step.mutable_axes() = to_plan(groups.axes);
  for (const std::vector<int64_t>& members : groups.explicit_groups)
    step.add_groups()->mutable_devices()->Add(members.begin(), members.end());
}

void set_reduction(plan::Collective& step, const Function& fn, const Op& op) {
  const plan::ScalarOp reduction = named_reducer(fn, op.regions[0]);
  if (reduction == plan::NOP || reduction == plan::XOR)
    throw UserError(place_of(op), fmt::format("{} by an unknown reduction", name_of(op.code)),
                    "expected add, multiply, maximum, minimum, and, or");
  step.set_reduction(reduction);
}

// What kind of collective it is, and among whom.
void describe(plan::Collective& step, const Function& fn, const Op& op) {
  switch (op.code) {
    case OpCode::kAllGather:
      step.set_kind(plan::Collective::ALL_GATHER);
      return set_groups(step, op.as<AllGatherAttrs>().groups);
    case OpCode::kAllReduce:
      step.set_kind(plan::Collective::ALL_REDUCE);
      set_reduction(step, fn, op);
      return set_groups(step, op.as<AllReduceAttrs>().groups);
    case OpCode::kReduceScatter:
      step.set_kind(plan::Collective::REDUCE_SCATTER);
      set_reduction(step, fn, op);
      return set_groups(step, op.as<ReduceScatterAttrs>().groups);
    case OpCode::kAllToAll:
      step.set_kind(plan::Collective::ALL_TO_ALL);
      return set_groups(step, op.as<AllToAllAttrs>().groups);
    case OpCode::kCollectivePermute: {
      const auto& attrs = op.as<CollectivePermuteAttrs>();
      step.set_kind(plan::Collective::PERMUTE);
      *step.mutable_axes() = to_plan(attrs.axes);
      for (const RankPairs::Run& run : attrs.source_target_pairs.runs()) {
        plan::Collective::Pairs* pairs = step.add_pairs();
        pairs->set_source(run.source);
        pairs->set_target(run.target);
        pairs->set_count(run.count);
        pairs->set_source_step(run.source_step);
        pairs->set_target_step(run.target_step);
      }
      return;
    }
    default:
      SPMD_UNREACHABLE("{} reaches code generation", name_of(op.code));
  }
}

void set_dims(plan::Collective::Part& part, const Op& op) {
  if (op.code == OpCode::kAllGather) part.set_dim(op.as<AllGatherAttrs>().dim);
  if (op.code == OpCode::kReduceScatter) part.set_dim(op.as<ReduceScatterAttrs>().dim);
  if (op.code == OpCode::kAllToAll) {
    part.set_dim(op.as<AllToAllAttrs>().split_dim);
    part.set_concat_dim(op.as<AllToAllAttrs>().concat_dim);
  }
}

void lower_exchange(Emitter& emitter, const Op& op) {
  plan::Collective step;
  describe(step, emitter.fn(), op);
  std::vector<View> inputs, outputs;
  for (ValueId operand : op.operands) inputs.push_back(emitter.dense(operand));
  for (ValueId result : op.results) outputs.push_back(emitter.define(result));
  for (size_t i = 0; i < inputs.size(); ++i) {
    plan::Collective::Part& part = *step.add_parts();
    *part.mutable_in() = to_plan(inputs[i], true);
    *part.mutable_out() = to_plan(outputs[i], true);
    set_dims(part, op);
    part.set_op(place_of(op));
  }
  emitter.add_step().mutable_collective()->Swap(&step);
}

View emit_axis_index(Emitter& emitter, const AxisList& axes) {
  const TensorType type{DType::kS32, {}};
  const View out = dense_view(emitter.storages().add(plan::Buffer::ARENA, type.num_bytes()), type);
  plan::AxisIndex& step = *emitter.add_step().mutable_axis_index();
  *step.mutable_axes() = to_plan(axes);
  *step.mutable_out() = to_plan(out, false);
  return out;
}

// The device's number: its place in the mesh, sent through the mesh's device order.
void lower_partition_id(Emitter& emitter, const Op& op) {
  const Mesh& mesh = emitter.module().mesh;
  AxisList axes;
  for (int axis = 0; axis < mesh.num_axes(); ++axis) axes.push_back({axis});
  const View place = emit_axis_index(emitter, axes);
  const TensorType& type = emitter.fn().type(op.results[0]);
  if (mesh.device_ids().empty()) {
    View number = place;  // not negative, so that its bits are those of the unsigned number
    number.dtype = type.dtype;
    return emitter.define_as(op.results[0], number);
  }
  std::vector<uint32_t> devices(mesh.device_ids().begin(), mesh.device_ids().end());
  const Literal table = Literal::of({DType::kU32, {static_cast<int64_t>(devices.size())}}, devices);
  const View all = dense_view(emitter.storages().add_constant(table, false), table.type());
  View out = emitter.define(op.results[0]);
  out.shape = out.strides = {1};
  plan::DynamicSlice& step = *emitter.add_step().mutable_dynamic_slice();
  *step.mutable_operand() = to_plan(all, true);
  *step.add_starts() = to_plan(place, false);
  *step.mutable_out() = to_plan(out, true);
}

}  // namespace

void lower_collective(Emitter& emitter, OpId id) {
  const Op& op = emitter.fn().op(id);
  switch (op.code) {
    case OpCode::kAxisIndex:
      return emitter.define_as(op.results[0],
                               emit_axis_index(emitter, op.as<AxisIndexAttrs>().axes));
    case OpCode::kPartitionId:
      return lower_partition_id(emitter, op);
    case OpCode::kPropagationBarrier:
      return emitter.alias(op.results[0], op.operands[0]);
    case OpCode::kShardingGroup:
      return;
    default:
      return lower_exchange(emitter, op);
  }
}

}  // namespace spmd::codegen
