// What steps read and write.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "runtime/plan/accesses.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {

using plan::for_each_view;
using plan::is_copy;

// The output view of a step that lies in a buffer, if it may have any strides there and the step
// accesses the buffer in no other way; null else. `shape` gets the view's shape.
plan::View* strided_output(plan::Step& step, const std::function<bool(int)>& is_buffer,
                           std::vector<int64_t>* shape);

// The sequences inside a step: a loop's condition and body, a branch's branches.
std::vector<plan::Sequence*> sequences_of(plan::Step& step);

// How a step and those inside of it use each storage.
struct StepUse {
  bool reads = false, writes = false;
};
using StepUses = std::map<int, StepUse>;
StepUses uses_of(plan::Step& step);

}  // namespace spmd::codegen
