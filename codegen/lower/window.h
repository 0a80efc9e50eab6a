// What windows of reductions and of convolutions share.
#pragma once

#include <google/protobuf/repeated_field.h>

#include "ir/type.h"

namespace spmd::codegen {

// A number for each of `count` dimensions: `values`, or `otherwise` where there are none.
inline void set_per_dimension(google::protobuf::RepeatedField<int64_t>* field, const Dims& values,
                              size_t count, int64_t otherwise) {
  for (size_t d = 0; d < count; ++d) field->Add(values.empty() ? otherwise : values[d]);
}

}  // namespace spmd::codegen
