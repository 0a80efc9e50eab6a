// What targets with kernels of attention (cuDNN's) can do of it.
#pragma once

#include "codegen/views.h"
#include "ir/module.h"

namespace spmd::codegen {

// Whether an attention op, forward or backward, has one; both have, or neither. Others are expanded
// (passes/expand_attention.h).
bool has_attention_kernel(const Function& fn, const Op& op);

// Whether such a kernel reads or writes queries, keys, values, outputs and their gradients as
// `view` has them: any strides in which heads and groups are one dimension, the numbers of a head
// are neighbours and vectors of them are aligned.
bool fits_attention_kernel(const View& view);

}  // namespace spmd::codegen
