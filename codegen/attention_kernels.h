// Which kernel does an attention step: a library's (cuDNN's), one of ours, compiled with the Plan's
// others (kernels/cuda_attention.h), or none, so that attention has to be expanded
// (passes/expand_attention.h).
#pragma once

#include <cstdint>

#include "codegen/attention_target.h"
#include "codegen/views.h"
#include "ir/module.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

enum class AttentionKernel : uint8_t { kNone, kLibrary, kCompiled };

// Forward and backward ops of one attention have the same kind.
AttentionKernel attention_kernel(const Function& fn, const Op& op, const AttentionTarget& target);
// Of an Attention or AttentionBackward step.
AttentionKernel attention_kernel(const plan::Step& step, const AttentionTarget& target);

// Whether attention kernels of one type read or write queries, keys, values, outputs and their
// gradients as `view` has them. The numbers of a head are neighbours; for 16-bit floats, which a
// library may do, heads and groups are one dimension, and vectors are aligned.
bool fits_attention_kernel(const View& view);

}  // namespace spmd::codegen
