#include "ir/reducer_region.h"

namespace spmd {

bool is_reducer_region(const Function& fn, BlockId region) {
  const OpId parent = fn.block(region).parent;
  if (parent == OpId::kNone) return false;
  const OpCode code = fn.op(parent).code;
  return family_of(code) != OpFamily::kControlFlow && code != OpCode::kManualComputation;
}

}  // namespace spmd
