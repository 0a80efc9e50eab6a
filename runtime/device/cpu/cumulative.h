// Windows that grow by one element at a time (cumulative sums): every result is the one before it
// and one element more, so that the work is linear in the size.
#pragma once

#include "runtime/device/cpu/kernel.h"

namespace spmd::cpu {

// Null when the windows are of another kind.
KernelPtr make_cumulative(const plan::ReduceWindow& step, LoadContext& context);

}  // namespace spmd::cpu
