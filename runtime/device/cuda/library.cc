#include "runtime/device/cuda/library.h"

#include "support/error.h"

// The compiled kernels, as nvcc wrote them.
asm(R"(
  .section .rodata
  .balign 64
  .global spmd_cuda_code
spmd_cuda_code:
  .incbin ")" SPMD_CUDA_CODE R"("
  .balign 8
  .quad 0
  .previous
)");
extern "C" const unsigned char spmd_cuda_code[];

namespace spmd::cuda {

Library::Library(const Gpu& gpu) : gpu_(gpu) {
  gpu_.check(gpu_.driver().ModuleLoadData(&module_, spmd_cuda_code), "loading kernels");
}

Library::~Library() {
  if (module_ != nullptr) gpu_.driver().ModuleUnload(module_);
}

CUfunction Library::find(const std::string& name) {
  const auto [place, is_new] = functions_.try_emplace(name, nullptr);
  if (is_new) {
    const CUresult result = gpu_.driver().ModuleGetFunction(&place->second, module_, name.c_str());
    SPMD_CHECK(result == CUDA_SUCCESS, "no kernel {}", name);
    gpu_.driver().FuncLoad(place->second);
  }
  return place->second;
}

}  // namespace spmd::cuda
