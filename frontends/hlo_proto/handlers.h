// What each opcode becomes. A family's file lists its opcodes.
#pragma once

#include <span>
#include <string_view>

#include "frontends/hlo_proto/emitter.h"

namespace spmd::hlo_proto {

struct Handler {
  std::string_view opcode;
  void (*emit)(Emitter& emitter, const Instruction& instruction, OpCode code);
  OpCode code = OpCode::kReturn;  // for handlers that serve several opcodes
};

std::span<const Handler> elementwise_handlers();
std::span<const Handler> shape_handlers();
std::span<const Handler> contraction_handlers();
std::span<const Handler> convolution_handlers();
std::span<const Handler> linalg_handlers();
std::span<const Handler> reduction_handlers();
std::span<const Handler> indexing_handlers();
std::span<const Handler> window_handlers();
std::span<const Handler> ordering_handlers();
std::span<const Handler> random_handlers();
std::span<const Handler> control_flow_handlers();
std::span<const Handler> collective_handlers();
std::span<const Handler> expanded_handlers();

// Targets of custom-call, in place of opcodes.
std::span<const Handler> custom_call_handlers();

// XLA leaves zero fields out: a stride, dilation or group count of zero is the default, one.
inline int64_t at_least_one(int64_t value) { return value == 0 ? 1 : value; }

// Null for opcodes that have no meaning here.
const Handler* find_handler(std::string_view opcode);
const Handler* find_custom_call(std::string_view target);

// Throws one UserError that lists, with counts and places, every opcode, custom-call target and
// element type reachable from the entry that is not supported.
void check_supported(ModuleContext& context);

}  // namespace spmd::hlo_proto
