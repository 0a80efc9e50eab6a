// Lowering: one function per op family turns an op into steps, views or members of fused kernels.
#pragma once

#include "codegen/emitter.h"

namespace spmd::codegen {

// Throws UserError for an op that no step can express.
void lower_op(Emitter& emitter, OpId id);

void lower_shape(Emitter& emitter, OpId id);
void lower_contraction(Emitter& emitter, OpId id);
void lower_attention(Emitter& emitter, OpId id);
void lower_convolution(Emitter& emitter, OpId id);
void lower_linalg(Emitter& emitter, OpId id);
void lower_reduction(Emitter& emitter, OpId id);
void lower_indexing(Emitter& emitter, OpId id);
void lower_window(Emitter& emitter, OpId id);
void lower_ordering(Emitter& emitter, OpId id);
void lower_random(Emitter& emitter, OpId id);
void lower_control_flow(Emitter& emitter, OpId id);
void lower_collective(Emitter& emitter, OpId id);

}  // namespace spmd::codegen
