// From steps of a Plan to loop IR.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "codegen/kernels/loop_ir.h"

namespace spmd::codegen::kernels {

// Whether scalar programs of such an instruction can be compiled: real types of whole bytes but for
// the floats of 8 bits and fewer, and no special functions. `args`: types of its operands.
bool supports(const plan::Instruction& instruction, const std::vector<plan::DType>& args);
bool supports(const plan::ScalarProgram& program);

// The kernel of a step, its buffers aligned to 64 bytes; nullopt for a step that has to keep the
// device's own loops: one that is neither Elementwise, Reduce nor Fused, has no elements, or asks
// for what supports() denies. Arguments are numbered in the order of for_each_view; those on LOCAL
// buffers (`is_local`) are left out.
std::optional<Kernel> lower(const plan::Step& step, const std::function<bool(int)>& is_local);

}  // namespace spmd::codegen::kernels
