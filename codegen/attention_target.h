// What decides between a library's attention, compiled kernels and expansion, apart from
// attention_kernels.h so that passes need not include the Plan.
#pragma once

namespace spmd::codegen {

// What a target has for attention steps (attention_kernels.h).
struct AttentionTarget {
  bool library = false;   // cuDNN is there
  bool compiler = false;  // kernels are compiled for a GPU
};

}  // namespace spmd::codegen
