// Opcodes of the collective family.
#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/replica_groups.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

// One op per operand: a collective on a tuple is several collectives.
template <typename Create>
void for_each_operand(Emitter& emitter, const Instruction& instruction, Create&& create) {
  const std::vector<ValueId> operands = emitter.all_operands();
  const std::vector<TensorType> types = emitter.result_types(instruction);
  if (operands.size() != types.size()) {
    emitter.fail(instruction,
                 fmt::format("has {} operands and {} results", operands.size(), types.size()));
  }
  std::vector<ValueId> results;
  for (size_t i = 0; i < operands.size(); ++i) {
    const OpId op = create(operands[i], types[i]);
    results.push_back(emitter.function().op(op).results[0]);
  }
  emitter.define(results);
  emitter.set_shardings(instruction, results);
}

void all_gather(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const AllGatherAttrs attrs{emitter.single_dim(instruction),
                             groups_of(emitter.context(), instruction)};
  for_each_operand(emitter, instruction, [&](ValueId operand, const TensorType& type) {
    return emitter.builder().create(code, {operand}, {type}, attrs);
  });
}

void reducing(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const CollectiveGroups groups = groups_of(emitter.context(), instruction);
  const Computation& reducer =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  Attrs attrs = AllReduceAttrs{groups};
  if (code == OpCode::kReduceScatter) {
    attrs = ReduceScatterAttrs{emitter.single_dim(instruction), groups};
  }
  for_each_operand(emitter, instruction, [&](ValueId operand, const TensorType& type) {
    const OpId op = emitter.builder().create(code, {operand}, {type}, attrs);
    emitter.add_region(op, reducer);
    return op;
  });
}

// The form on a tuple: operand i goes to member i, element i of the result came from member i. The
// parts are stacked, exchanged along the new dimension, and taken apart.
void all_to_all_of_parts(Emitter& emitter, const Instruction& instruction,
                         const CollectiveGroups& groups) {
  Builder& builder = emitter.builder();
  std::vector<ValueId> parts = emitter.all_operands();
  const auto count = static_cast<int64_t>(parts.size());
  emitter.require(instruction, count == group_size(groups, emitter.context().module.mesh),
                  "has not one operand per member of a group");
  const Dims shape = emitter.type(parts.front()).shape;
  for (ValueId& part : parts) {
    emitter.require(instruction, emitter.type(part) == emitter.type(emitter.operand(0)),
                    "has operands of different types");
    Dims stacked = shape;
    stacked.insert(stacked.begin(), 1);
    part = builder.reshape(part, std::move(stacked));
  }
  const ValueId all = builder.value(OpCode::kConcatenate, std::move(parts), ConcatenateAttrs{0});
  const TensorType type = emitter.type(all);
  const OpId exchange =
      builder.create(OpCode::kAllToAll, {all}, {type}, AllToAllAttrs{0, 0, groups});
  const ValueId exchanged = emitter.function().op(exchange).results[0];
  std::vector<ValueId> results;
  for (int64_t i = 0; i < count; ++i) {
    Dims start(type.shape.size(), 0), limit = type.shape;
    start[0] = i;
    limit[0] = i + 1;
    results.push_back(
        builder.reshape(builder.slice(exchanged, std::move(start), std::move(limit)), shape));
  }
  emitter.define(results);
}

void all_to_all(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const CollectiveGroups groups = groups_of(emitter.context(), instruction);
  if (instruction.dimensions_size() == 0) {
    emitter.require(instruction, instruction.operand_ids_size() > 0, "has no operands");
    all_to_all_of_parts(emitter, instruction, groups);
    return;
  }
  const int64_t dim = emitter.single_dim(instruction);
  emitter.create(instruction, code, {emitter.operand(0)}, AllToAllAttrs{dim, dim, groups});
}

void collective_permute(Emitter& emitter, const Instruction& instruction, OpCode code) {
  CollectivePermuteAttrs attrs;
  for (const hlo::SourceTarget& pair : instruction.source_target_pairs()) {
    attrs.source_target_pairs.emplace_back(pair.source(), pair.target());
  }
  for_each_operand(emitter, instruction, [&](ValueId operand, const TensorType& type) {
    return emitter.builder().create(code, {operand}, {type}, attrs);
  });
}

void partition_id(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {});
}

}  // namespace

std::span<const Handler> collective_handlers() {
  static constexpr Handler kHandlers[] = {
      {"all-gather", all_gather, OpCode::kAllGather},
      {"all-reduce", reducing, OpCode::kAllReduce},
      {"all-to-all", all_to_all, OpCode::kAllToAll},
      {"collective-permute", collective_permute, OpCode::kCollectivePermute},
      {"partition-id", partition_id, OpCode::kPartitionId},
      {"reduce-scatter", reducing, OpCode::kReduceScatter},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
