// From steps of a Plan to loop IR.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/kernels/loop_ir.h"

namespace spmd::codegen::kernels {

// What can be compiled: real types of whole bytes but for the floats of 8 bits and fewer, and no
// special functions. `args`: types of an instruction's operands.
bool supports(plan::DType dtype);
bool supports(const plan::Instruction& instruction, const std::vector<plan::DType>& args);
bool supports(const plan::ScalarProgram& program);

// The kernel of a step, its buffers aligned to 64 bytes; nullopt for a step that has to keep the
// device's own loops: one that is neither Elementwise, Reduce, Fused nor Grouped, has no elements,
// or asks for what supports() denies. Arguments are numbered as plan::kernel_views() lists them.
//
// Of Fused, all steps share one index space: reductions have the same shape and dims, elementwise
// steps that shape or the shape of the dimensions that are kept. A buffer that several of them
// access is written once, and read through the very view that it was written by.
std::optional<Kernel> lower(const plan::Step& step, const std::function<bool(int)>& is_local);

// Brings the dimensions of a kernel into the order of memory, joins those that are walked as one,
// and chooses the mapping. `leader`: the access whose strides decide.
void canonicalize(Kernel& kernel, int leader);

}  // namespace spmd::codegen::kernels
