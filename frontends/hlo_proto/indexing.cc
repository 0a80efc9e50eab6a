// Opcodes of the indexing family.
#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {
namespace {

void copy(const google::protobuf::RepeatedField<int64_t>& from, Dims& to) {
  to.assign(from.begin(), from.end());
}

// Start indices from operand `first` on. Old files have one vector instead of scalars.
std::vector<ValueId> start_indices(Emitter& emitter, const Instruction& instruction, int first,
                                   int64_t rank) {
  std::vector<ValueId> starts;
  for (int i = first; i < instruction.operand_ids_size(); ++i) {
    starts.push_back(emitter.operand(i));
  }
  const bool is_vector = starts.size() == 1 && emitter.type(starts[0]).rank() == 1 &&
                         emitter.type(starts[0]).dim(0) == rank;
  if (!is_vector) return starts;
  const ValueId all = starts[0];
  starts.clear();
  for (int64_t i = 0; i < rank; ++i) {
    starts.push_back(emitter.builder().reshape(emitter.builder().slice(all, {i}, {i + 1}), {}));
  }
  return starts;
}

void dynamic_slice(Emitter& emitter, const Instruction& instruction, OpCode code) {
  DynamicSliceAttrs attrs;
  copy(instruction.dynamic_slice_sizes(), attrs.sizes);
  std::vector<ValueId> operands = {emitter.operand(0)};
  for (ValueId start : start_indices(emitter, instruction, 1, emitter.type(operands[0]).rank())) {
    operands.push_back(start);
  }
  emitter.create(instruction, code, std::move(operands), std::move(attrs));
}

void dynamic_update_slice(Emitter& emitter, const Instruction& instruction, OpCode code) {
  std::vector<ValueId> operands = {emitter.operand(0), emitter.operand(1)};
  for (ValueId start : start_indices(emitter, instruction, 2, emitter.type(operands[0]).rank())) {
    operands.push_back(start);
  }
  emitter.create(instruction, code, std::move(operands));
}

void gather(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const hlo::GatherDimensionNumbers& numbers = instruction.gather_dimension_numbers();
  GatherAttrs attrs;
  copy(numbers.offset_dims(), attrs.offset_dims);
  copy(numbers.collapsed_slice_dims(), attrs.collapsed_slice_dims);
  copy(numbers.operand_batching_dims(), attrs.operand_batching_dims);
  copy(numbers.start_indices_batching_dims(), attrs.start_indices_batching_dims);
  copy(numbers.start_index_map(), attrs.start_index_map);
  attrs.index_vector_dim = numbers.index_vector_dim();
  copy(instruction.gather_slice_sizes(), attrs.slice_sizes);
  attrs.indices_are_sorted = instruction.indices_are_sorted();
  emitter.create(instruction, code, {emitter.operand(0), emitter.operand(1)}, std::move(attrs));
}

void scatter(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const hlo::ScatterDimensionNumbers& numbers = instruction.scatter_dimension_numbers();
  ScatterAttrs attrs;
  copy(numbers.update_window_dims(), attrs.update_window_dims);
  copy(numbers.inserted_window_dims(), attrs.inserted_window_dims);
  copy(numbers.input_batching_dims(), attrs.input_batching_dims);
  copy(numbers.scatter_indices_batching_dims(), attrs.scatter_indices_batching_dims);
  copy(numbers.scatter_dims_to_operand_dims(), attrs.scatter_dims_to_operand_dims);
  attrs.index_vector_dim = numbers.index_vector_dim();
  attrs.indices_are_sorted = instruction.indices_are_sorted();
  attrs.unique_indices = instruction.unique_indices();
  const Computation& update =
      emitter.context().computations.called(emitter.computation(), instruction, 0);
  const OpId op = emitter.create(instruction, code, emitter.all_operands(), std::move(attrs));
  emitter.add_region(op, update);
}

}  // namespace

std::span<const Handler> indexing_handlers() {
  static constexpr Handler kHandlers[] = {
      {"dynamic-slice", dynamic_slice, OpCode::kDynamicSlice},
      {"dynamic-update-slice", dynamic_update_slice, OpCode::kDynamicUpdateSlice},
      {"gather", gather, OpCode::kGather},
      {"scatter", scatter, OpCode::kScatter},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
