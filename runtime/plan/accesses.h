// What steps read and write.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// Calls `visit` for every view that the step itself has, those of loops' and branches' steps apart,
// in the order of the step's fields: inputs, initial values, outputs. A loop's predicate and a
// branch's index are the step's own; so are the views of what is fused or grouped, those on LOCAL
// buffers too, and of a product's epilogue.
void for_each_view(const Step& step, const std::function<void(const View&, bool writes)>& visit);
void for_each_view(Step& step, const std::function<void(View&, bool writes)>& visit);

// The shape that the step walks through a view of its own with.
std::vector<int64_t> view_shape(const Step& step, const View& view);

// How many different elements that is: a broadcast dimension has one.
int64_t distinct_elements(const Step& step, const View& view);

}  // namespace spmd::plan
