// From loop IR to source text, in one of two dialects.
#pragma once

#include <optional>
#include <string>

#include "codegen/kernels/loop_ir.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

// What the two languages do differently. A unit is prelude() and then kernels; it includes nothing.
class Dialect {
 public:
  virtual ~Dialect() = default;
  virtual plan::KernelModule::Target target() const = 0;
  // Types and scalar functions that kernels use.
  virtual std::string prelude() const = 0;
  // Appends a kernel to `source` as `name`; returns how it is launched.
  virtual plan::Kernel emit(const Kernel& kernel, const std::string& name,
                            std::string& source) const = 0;
  // What kernels of attention need behind the prelude; empty: the dialect has none.
  virtual std::string attention_prelude() const { return ""; }
  // The same as emit() for an attention step; nullopt: the dialect has none.
  virtual std::optional<plan::Kernel> emit_attention(const plan::Step&, const std::string& /*name*/,
                                                     std::string& /*source*/) const {
    return std::nullopt;
  }
};

// Kernels are `extern "C" void name(void* const* args, int64_t begin, int64_t end)`, which
// do units [begin, end) of plan.Kernel.units. For g++ and clang++.
const Dialect& cpp_dialect();
// Kernels are `extern "C" __global__ void name(Args<n> args)`, Args<n> a struct of n pointers. For
// NVRTC with `--std=c++17 --device-as-default-execution-space --fmad=false`; no headers are needed.
// Launch with the stated blocks, threads and bytes of dynamic shared memory.
const Dialect& cuda_dialect();
const Dialect& dialect_of(plan::KernelModule::Target target);

}  // namespace spmd::codegen::kernels
