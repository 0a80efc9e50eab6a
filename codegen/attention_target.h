#pragma once

namespace spmd::codegen {

// What a target has for attention steps (attention_kernels.h).
struct AttentionTarget {
  bool library = false;   // cuDNN is there
  bool compiler = false;  // kernels are compiled for a GPU
};

}  // namespace spmd::codegen
