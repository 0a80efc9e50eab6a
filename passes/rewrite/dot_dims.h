// Where the dimensions of a dot's result come from.
#pragma once

#include <optional>

#include "ir/module.h"

namespace spmd {

enum class DotDimKind { kBatch, kContracting, kFree };

DotDimKind dot_dim_kind(const DotAttrs& attrs, size_t side, int64_t dim);

// The result's dimension for a free dimension of operand `side` (0 lhs, 1 rhs).
int64_t result_dim_of_free(const Function& fn, const Op& dot, size_t side, int64_t dim);

struct DotDim {
  size_t side;
  int64_t dim;
};
// The operand's free dimension that is dimension `dim` of the result; nothing for batch dimensions.
std::optional<DotDim> free_dim_of_result(const Function& fn, const Op& dot, int64_t dim);

// The dimension of the other operand that is contracted with contracting dimension `dim` of `side`.
int64_t contracted_with(const DotAttrs& attrs, size_t side, int64_t dim);

}  // namespace spmd
