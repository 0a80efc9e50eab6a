// Steps cut into pieces that threads do side by side.
//
// A piece is a step on a part of the index space: its views begin later and are shorter. Pieces
// write different elements, each as the whole step computes it, so that sums are in the same order.
// (Libraries may choose another order for a product of another size.)
#pragma once

#include <vector>

#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/workers.h"

namespace spmd::cpu {

// Up to `most` pieces, about equally long: of products, convolutions and copies that are worth the
// threads' meeting. The step itself where it is not cut.
std::vector<plan::Step> pieces_of(const plan::Step& step, int most);

// A kernel that does each piece on a thread of its own. `workers` outlive it.
KernelPtr make_side_by_side(const std::vector<plan::Step>& pieces, Workers& workers,
                            LoadContext& context);

}  // namespace spmd::cpu
