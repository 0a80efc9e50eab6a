#include "codegen/lower/lower.h"

#include "support/error.h"

namespace spmd::codegen {

void lower_op(Emitter& emitter, OpId id) {
  switch (family_of(emitter.fn().op(id).code)) {
    case OpFamily::kElementwise:
      return emitter.fuse(id);
    case OpFamily::kShape:
      return lower_shape(emitter, id);
    case OpFamily::kContraction:
      return lower_contraction(emitter, id);
    case OpFamily::kAttention:
      return lower_attention(emitter, id);
    case OpFamily::kConvolution:
      return lower_convolution(emitter, id);
    case OpFamily::kLinalg:
      return lower_linalg(emitter, id);
    case OpFamily::kReduction:
      return lower_reduction(emitter, id);
    case OpFamily::kIndexing:
      return lower_indexing(emitter, id);
    case OpFamily::kWindow:
      return lower_window(emitter, id);
    case OpFamily::kOrdering:
      return lower_ordering(emitter, id);
    case OpFamily::kRandom:
      return lower_random(emitter, id);
    case OpFamily::kControlFlow:
      return lower_control_flow(emitter, id);
    case OpFamily::kCollective:
      return lower_collective(emitter, id);
    case OpFamily::kExpanded:
      break;
  }
  SPMD_UNREACHABLE("{} reaches code generation", name_of(emitter.fn().op(id).code));
}

}  // namespace spmd::codegen
