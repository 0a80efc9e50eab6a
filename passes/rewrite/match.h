// Small questions that patterns ask about values.
#pragma once

#include <optional>

#include "ir/module.h"

namespace spmd {

// The op that defines `value` when it has that code, else null.
const Op* def_of(const Function& fn, ValueId value, OpCode code);
OpId def_id(const Function& fn, ValueId value);

// The literal of a constant, else null. Valid until the constant is erased.
const Literal* constant_of(const Function& fn, ValueId value);

// One scalar literal that all elements equal: of a splat, of a constant of one element, and of a
// broadcast of either.
std::optional<Literal> splat_of(const Function& fn, ValueId value);
// All elements are the constant `number`.
bool is_splat(const Function& fn, ValueId value, double number);

// 0, 1, ..., rank-1
Dims iota_dims(int64_t rank);
bool is_iota(const Dims& dims);
bool contains(const Dims& dims, int64_t dim);
Dims without_ones(const Dims& shape);

// True when every use of `value` is by `user`.
bool only_used_by(const Function& fn, ValueId value, OpId user);

// Every value of `from` is a value of `to`, so that converting loses nothing.
bool converts_exactly(DType from, DType to);

}  // namespace spmd
