// Gives the steps of a Plan compiled kernels.
#pragma once

#include <optional>
#include <string>

#include "runtime/plan/plan.pb.h"

namespace spmd {

// Numbers Step.kernel of every step that can be compiled and fills Plan.kernels but for its code.
// Returns the source of the one translation unit that they are all in; empty when no step has a
// kernel. Steps that differ in buffers and offsets only share one. All attention that kernels of
// the target can do has them.
std::string emit_kernels(plan::Plan& plan, plan::KernelModule::Target target);

// Takes compiled kernels away again: the device's own loops do all steps.
void drop_kernels(plan::Plan& plan);

struct HostKernelOptions {
  std::string cache_dir;  // empty: no cache
  // Shorter steps take longer to compile than the loops will ever lose by them.
  int64_t fewest_elements = 0;
  // Seconds that compiling may take; absent: as long as it takes. When a few kernels show that not
  // all can be compiled in it, the first ones are that can, and `note` says so.
  std::optional<double> seconds;
};

// emit_kernels() for this machine's CPU, compiled by its C++ compiler or found in the cache.
// Without a compiler the Plan has no kernels after; `note`, when not null, gets the reason in one
// line.
void compile_host_kernels(plan::Plan& plan, const HostKernelOptions& options, std::string* note);

struct CudaKernelOptions {
  std::string architecture;       // "sm_90"
  std::string cache_dir;          // empty: no cache
  std::optional<double> seconds;  // as above
  // The target has a library for attention (codegen/attention_kernels.h), which does what it takes.
  bool attention_library = false;
};

// The same for GPUs of an architecture, by NVRTC; no GPU is needed.
void compile_cuda_kernels(plan::Plan& plan, const CudaKernelOptions& options, std::string* note);

}  // namespace spmd
