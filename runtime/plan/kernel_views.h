// The arguments of compiled kernels.
#pragma once

#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// Whether steps of this kind can have a kernel: Elementwise, Reduce, Fused, Grouped, Attention and
// AttentionBackward.
bool can_have_kernel(const Step& step);

// The views whose addresses the step's kernel gets, in order: inputs, initial values, outputs; of
// Attention and AttentionBackward, in the order of their fields; of
// Fused and Grouped, those of their steps one after the other, without views on LOCAL buffers.
// Empty for steps that cannot have one.
std::vector<const View*> kernel_views(const Plan& plan, const Step& step);

}  // namespace spmd::plan
