// Products with what is done to their elements: bias, scale, residual, ReLU, GELU and
// its gradient.
//
// The last fusion, on a Plan whose memory is placed. A Dot and the Elementwise step that alone
// reads its result become one step (plan.DotEpilogue) when that arithmetic is of the form that
// libraries of matrix products have as epilogues, so that the product need not go through memory.
// Which of the two forms runs is decided on the device, by their times. What lies between the two
// steps moves before the product where memory allows it.
#pragma once

#include <vector>

#include "codegen/fuse_rows.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// `notes`, unless null, gets one for each product that has got an epilogue.
void add_dot_epilogues(plan::Plan& plan, std::vector<FusionNote>* notes);

}  // namespace spmd::codegen
