// What targets with kernels of attention (cuDNN's) can do of it.
#pragma once

#include "ir/module.h"

namespace spmd::codegen {

// Whether an attention op, forward or backward, has one; both have, or neither. Others are expanded
// (passes/expand_attention.h).
bool has_attention_kernel(const Function& fn, const Op& op);

}  // namespace spmd::codegen
