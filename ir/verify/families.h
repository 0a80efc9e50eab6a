// The constraints of each op family, beyond what inferring the result types (ir/infer.cc) checks.
// An op comes here with its operands defined, sizes known, tokens only in control flow, as many
// regions as its code has, each ending in a return, and, where they can be inferred, its result
// types right. Each throws the UserError of OpView::fail().
#pragma once

#include "ir/verify/op_view.h"

namespace spmd::verifier {

void verify_elementwise(const OpView& v);
void verify_shape(const OpView& v);
void verify_contraction(const OpView& v);
void verify_attention(const OpView& v);
void verify_convolution(const OpView& v);
void verify_reduction(const OpView& v);
void verify_indexing(const OpView& v);
void verify_window(const OpView& v);
void verify_ordering(const OpView& v);
void verify_random(const OpView& v);
void verify_control_flow(const OpView& v);
void verify_collective(const OpView& v);

}  // namespace spmd::verifier
