// Inside the evaluator: what one op is evaluated from, and the function of each family.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "ir/describe.h"
#include "ir/literal.h"
#include "ir/module.h"

namespace spmd::eval {

using Literals = std::vector<Literal>;

// Runs a region of the op being evaluated on arguments of one rank.
using RegionCall = std::function<Literals(BlockId, Literals)>;

// One op on one rank. Operands belong to the evaluation: a family may take and overwrite them.
struct Invocation {
  const Function& fn;
  const Op& op;
  std::span<Literal> operands;
  const RegionCall& call_region;

  const TensorType& result_type(size_t index = 0) const { return fn.type(op.results[index]); }
  template <typename A>
  const A& attrs() const {
    return op.as<A>();
  }
};

Literal eval_elementwise(const Invocation& in);
Literal eval_shape(const Invocation& in);
Literal eval_dot_general(const Invocation& in);
Literals eval_attention(const Invocation& in);
Literal eval_convolution(const Invocation& in);
Literal eval_linalg(const Invocation& in);
Literals eval_reduce(const Invocation& in);
Literals eval_indexing(const Invocation& in);
Literals eval_window(const Invocation& in);
Literals eval_ordering(const Invocation& in);
Literals eval_rng_bit_generator(const Invocation& in);

// Any op of the families above.
Literals eval_local(const Invocation& in);

}  // namespace spmd::eval
