// Opcodes of the window family.
#include "frontends/hlo_proto/handlers.h"

namespace spmd::hlo_proto {
namespace {

WindowAttrs window_of(const Instruction& instruction) {
  WindowAttrs attrs;
  for (const hlo::WindowDimension& dim : instruction.window().dimensions()) {
    attrs.size.push_back(dim.size());
    attrs.stride.push_back(at_least_one(dim.stride()));
    attrs.base_dilation.push_back(at_least_one(dim.base_dilation()));
    attrs.window_dilation.push_back(at_least_one(dim.window_dilation()));
    attrs.pad_low.push_back(dim.padding_low());
    attrs.pad_high.push_back(dim.padding_high());
  }
  return attrs;
}

// Regions are the computations in the order in which the instruction names them.
void windowed(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const OpId op = emitter.create(instruction, code, emitter.all_operands(), window_of(instruction));
  const int regions = code == OpCode::kSelectAndScatter ? 2 : 1;
  for (int i = 0; i < regions; ++i) {
    emitter.add_region(
        op, emitter.context().computations.called(emitter.computation(), instruction, i));
  }
}

}  // namespace

std::span<const Handler> window_handlers() {
  static constexpr Handler kHandlers[] = {
      {"reduce-window", windowed, OpCode::kReduceWindow},
      {"select-and-scatter", windowed, OpCode::kSelectAndScatter},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
