// Top-k, which files spell as an opcode and as several custom calls.
#pragma once

#include "frontends/hlo_proto/emitter.h"

namespace spmd::hlo_proto {

// Along the last dimension; results are values and indices.
void emit_top_k(Emitter& emitter, const Instruction& instruction, int64_t k, bool largest);

}  // namespace spmd::hlo_proto
