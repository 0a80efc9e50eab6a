// Views as kernels of the library take them.
#pragma once

#include <optional>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cuda/kernels/parameters.h"
#include "runtime/device/kernel.h"

namespace spmd::cuda {

// Bytes, at most 256, that divide the address of a view's first element in every step.
int64_t alignment_of(const plan::Plan& plan, const BoundView& view);

// An index space of the library; nullopt when it has too many points or dimensions.
std::optional<Space> space_of(const std::vector<int64_t>& shape);

// Of at most kMostDims.
void put(const std::vector<int64_t>& values, int64_t* to);
void put(const google::protobuf::RepeatedField<int64_t>& values, int32_t* to);

// An iteration with its dimensions in the order of operand 0's memory, joined where they can be.
cpu::Iteration in_memory_order(std::vector<int64_t> shape,
                               std::vector<std::vector<int64_t>> strides);

// "f32": what kernels of the library are called by; nullopt for types that they do not compute
// with.
std::optional<std::string> kernel_type(plan::DType dtype);
// How two values become one; nullopt when the library has no such way. `op` and `program` as in
// plan.Reduce.
std::optional<Combine> combine_of(plan::ScalarOp op, const plan::ScalarProgram& program,
                                  plan::DType dtype);

}  // namespace spmd::cuda
