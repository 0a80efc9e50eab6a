// The CPU's kernels of a Plan's steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/device/kernel.h"

namespace spmd::cpu {

using spmd::BoundView;
using spmd::Kernel;
using spmd::KernelPtr;
using spmd::LoadContext;
using spmd::RunContext;

// The kernel of any step but collectives and control flow. Throws UserError when the CPU cannot
// do what the step asks for.
KernelPtr make_kernel(const plan::Step& step, LoadContext& context);

// One function per kind of step, by op family.
KernelPtr make_elementwise(const plan::Elementwise& step, LoadContext& context);
KernelPtr make_reduce(const plan::Reduce& step, LoadContext& context);
KernelPtr make_dot(const plan::Dot& step, LoadContext& context);
KernelPtr make_attention(const plan::Attention& step, LoadContext& context);
KernelPtr make_attention_backward(const plan::AttentionBackward& step, LoadContext& context);
KernelPtr make_convolution(const plan::Convolution& step, LoadContext& context);
KernelPtr make_gather(const plan::Gather& step, LoadContext& context);
KernelPtr make_scatter(const plan::Scatter& step, LoadContext& context);
KernelPtr make_dynamic_slice(const plan::DynamicSlice& step, LoadContext& context);
KernelPtr make_dynamic_update_slice(const plan::DynamicUpdateSlice& step, LoadContext& context);
KernelPtr make_reduce_window(const plan::ReduceWindow& step, LoadContext& context);
KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, LoadContext& context);
KernelPtr make_sort(const plan::Sort& step, LoadContext& context);
KernelPtr make_top_k(const plan::TopK& step, LoadContext& context);
KernelPtr make_fft(const plan::Fft& step, LoadContext& context);
KernelPtr make_cholesky(const plan::Cholesky& step, LoadContext& context);
KernelPtr make_triangular_solve(const plan::TriangularSolve& step, LoadContext& context);
KernelPtr make_fused(const plan::Fused& step, LoadContext& context);
KernelPtr make_grouped(const plan::Grouped& step, LoadContext& context);
KernelPtr make_rng_bit_generator(const plan::RngBitGenerator& step, LoadContext& context);

// A copy between views of one shape and type (also what an Elementwise without instructions is).
KernelPtr make_copy(const std::vector<int64_t>& shape, const BoundView& in, const BoundView& out);

// An integer scalar of any integer type (BOOL as 0 or 1).
int64_t read_integer(const std::byte* data, plan::DType dtype);

}  // namespace spmd::cpu
