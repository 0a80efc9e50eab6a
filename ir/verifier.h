// Verifier: local checks of every op.
#pragma once

#include <functional>
#include <string>

#include "ir/module.h"

namespace spmd {

// The gate before evaluator, passes and runtime: what it accepts makes none of them fail in a way
// that is not a UserError. Checks of every op, without looking at other ops: operands defined
// before their use; counts, result types (against infer_types()), element types, attribute ranges
// and regions as the StableHLO specification constrains them (ir/verify/); sizes known; shardings
// and axes legal on the mesh. Of every function: argument_info and result_info. Throws a UserError
// naming the op and its location; linear in the number of ops.
//
// `place_of` says where an op stands, for messages; without it, or where it returns nothing, the
// op's location does.
using PlaceOfOp = std::function<std::string(const Function& fn, OpId op)>;
void verify(const Module& module, const PlaceOfOp& place_of = nullptr);

}  // namespace spmd
