// What steps read and write.
#pragma once

#include <functional>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Calls `visit` for every view that the step itself has, those of loops' and
// branches' steps apart. A loop's predicate and a branch's index are the step's own; so are the
// views of what is fused, those on LOCAL buffers too.
void for_each_view(plan::Step& step, const std::function<void(plan::View&, bool writes)>& visit);

// The output view of a step that lies in a buffer, if it may have any strides there and the step
// accesses the buffer in no other way; null else. `shape` gets the view's shape.
plan::View* strided_output(plan::Step& step, const std::function<bool(int)>& is_buffer,
                           std::vector<int64_t>* shape);

// The sequences inside a step: a loop's condition and body, a branch's branches.
std::vector<plan::Sequence*> sequences_of(plan::Step& step);

}  // namespace spmd::codegen
