// Factor rules by op family; used by factor_rule() only.
#pragma once

#include "sharding/rules/factor_rule.h"

namespace spmd::rules {

FactorRule elementwise(const Function& fn, const Op& op);
FactorRule shape(const Function& fn, const Op& op);
FactorRule contraction(const Function& fn, const Op& op);
FactorRule attention(const Function& fn, const Op& op);
FactorRule convolution(const Function& fn, const Op& op);
FactorRule linalg(const Function& fn, const Op& op);
FactorRule reduction(const Function& fn, const Op& op);
FactorRule indexing(const Function& fn, const Op& op);
FactorRule window(const Function& fn, const Op& op);
FactorRule ordering(const Function& fn, const Op& op);
FactorRule random(const Function& fn, const Op& op);

// A rule whose operands and results have as many dimensions as those of `op`, without factors.
FactorRule empty_rule(const Function& fn, const Op& op);
// Adds one factor to dimension `dim` of the tensor.
inline void put(TensorFactors& tensor, int64_t dim, int factor) {
  tensor.dims[static_cast<size_t>(dim)].push_back(factor);
}
// Gives every dimension without factors a factor of its own that needs replication.
void replicate_rest(const Function& fn, const Op& op, FactorRule& rule);

}  // namespace spmd::rules
