// FactorRule: which dimensions of an op's operands and results are the same.
//
// Every dimension is a product of factors, major to minor; a factor that occurs in several tensors
// ties them, so that sharding it in one means sharding it in all. A dot [i, k] x [k, j] -> [i, j]
// has pass-through factors i and j and the reduction factor k; reshape 6x4 -> 24 has factors 6 and
// 4 with the result's dimension [6, 4]. (The factors of Shardy's sharding rules and of Einsum.)
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/module.h"
#include "support/inline_vector.h"

namespace spmd {

enum class FactorKind : uint8_t {
  kPassThrough,  // blocks of the inputs give blocks of the outputs
  kReduction,    // blocks of the inputs give partial outputs that `reduction` combines
  kIndexed,      // a dimension that indices address: blocks give partial outputs (gather) or are
                 // updated independently (scatter), when indices are made local and masked
  kNeedReplication,  // every device needs the whole dimension
};

// The dimensions of an exchanged factor may differ in size (a slice and what it is cut from): each
// is cut into as many blocks, and blocks of the results need rows of other blocks of the operands,
// which localising the op fetches. It is the only factor of its dimensions.
//
// A kept factor is a dimension that every device needs whole and that the op's results have too: a
// cut of the one is worth having in the other, although the op itself cannot be cut along it.
struct Factor {
  int64_t size = 1;  // of an exchanged factor: the largest
  FactorKind kind = FactorKind::kPassThrough;
  bool exchanged = false;
  bool kept = false;
};

// Factors of one dimension, major to minor. Empty for a dimension of size 1.
using DimFactors = InlineVector<int, 4>;

struct TensorFactors {
  std::vector<DimFactors> dims;
};

struct FactorRule {
  std::vector<Factor> factors;
  std::vector<TensorFactors> operands;
  std::vector<TensorFactors> results;
  ReductionKind reduction = ReductionKind::kSum;  // of partial results
  // The op is linear in these operands: sums of partial values pass through it. Either in all of
  // them together (add), or in any single one while the others are whole (multiply, dot).
  std::vector<int> linear_operands;
  bool linear_in_each = false;
  // Operands that enter a partial result once (the initial values of a reduction, the operand of a
  // scatter): they must be partial too when the result is.
  std::vector<int> once_operands;

  int add_factor(int64_t size, FactorKind kind = FactorKind::kPassThrough);
  int add_exchanged(int64_t size, FactorKind kind = FactorKind::kPassThrough);
  int add_kept(int64_t size);
  std::string to_string() const;  // "([i, k], [k, j])->([i, j]) {i=4, j=8, k=16} reduction={k}"
};

// The rule of an op; nullopt for ops that are treated as a whole (control flow, collectives,
// custom calls): they tie values, not dimensions within them.
std::optional<FactorRule> factor_rule(const Function& fn, OpId op);

// The value that an operand of a concatenation along `dim` was cut from, if it is a slice of that
// dimension only; else the operand. Parts of one value that are joined anew keep its placement.
ValueId joined_source(const Function& fn, ValueId operand, int64_t dim);

// ReductionKind of a reducer op, where there is one.
std::optional<ReductionKind> reduction_kind(OpCode reducer);
OpCode reducer_opcode(ReductionKind kind, DType dtype);

}  // namespace spmd
