// Kernels of attention steps in CUDA: tile by tile in shared memory, without the matrix of scores
// (device/attention_forward.inc, attention_backward.inc).
#pragma once

#include <string>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

// The text that they need behind the dialect's prelude, once in a unit.
std::string cuda_attention_prelude();

// Appends the kernel of an Attention or AttentionBackward step, one that attention_kernel() gives
// to the compiler, as `name`; returns how it is launched. Its buffers are aligned to 64 bytes;
// arguments are numbered as plan::kernel_views() lists them. Equal texts, but for the name, are
// equal kernels.
plan::Kernel emit_cuda_attention(const plan::Step& step, const std::string& name,
                                 std::string& source);

}  // namespace spmd::codegen::kernels
