// Memory traffic of steps.
#pragma once

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// Bytes that one execution of a step, without the steps inside loops and branches, has to read and
// write at least: of each place that it accesses the elements once for reading and once for
// writing. What lies in LOCAL buffers is not moved, nor what
// a Fused step reads after having written it. Of indexed operands (Gather, Scatter,
// DynamicSlice, DynamicUpdateSlice) no more counts than what is taken out of them or put into them.
int64_t bytes_moved(const Plan& plan, const Step& step);

}  // namespace spmd::plan
