// What windows and convolutions say for each dimension.
#pragma once

#include "ir/type.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// One number for each of `rank` dimensions; `otherwise` for all where the op has none.
void set_window_dims(google::protobuf::RepeatedField<int64_t>* field, const Dims& values,
                     size_t rank, int64_t otherwise);

}  // namespace spmd::codegen
