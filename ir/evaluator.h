// The reference evaluator: what every op means. Simple, single-threaded, and the oracle of every
// test.
#pragma once

#include <span>
#include <vector>

#include "ir/literal.h"
#include "ir/module.h"

namespace spmd {

// Runs main() on global values; shardings, reshards and constraints do not change values. A
// manual_computation is run on as many pretend ranks as its manual axes have devices.
std::vector<Literal> evaluate(const Module& module, std::span<const Literal> arguments);

// Runs main() of a partitioned module, in lockstep, on all devices of its mesh: `arguments[rank]`
// are rank's local arguments, and the result has one list per rank. Collectives exchange data
// between ranks; a branch or loop predicate that differs between ranks is a UserError.
std::vector<std::vector<Literal>> evaluate_ranks(const Module& module,
                                                 std::span<const std::vector<Literal>> arguments);

// Evaluates one op without regions that depend on outer values, on constant operands (constant
// folding).
std::vector<Literal> evaluate_op(const Module& module, const Function& fn, OpId op,
                                 std::span<const Literal> operands);

}  // namespace spmd
