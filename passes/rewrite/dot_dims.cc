#include "passes/rewrite/dot_dims.h"

#include <algorithm>

#include "passes/rewrite/match.h"

namespace spmd {
namespace {

const Dims& contracting(const DotAttrs& attrs, size_t side) {
  return side == 0 ? attrs.lhs_contracting : attrs.rhs_contracting;
}

int64_t number_of_free(const Function& fn, const Op& dot, size_t side) {
  const auto& attrs = dot.as<DotAttrs>();
  return fn.type(dot.operands[side]).rank() - static_cast<int64_t>(attrs.lhs_batch.size()) -
         static_cast<int64_t>(contracting(attrs, side).size());
}

// The first of the side's free dimensions in the result.
int64_t first_free(const Function& fn, const Op& dot, size_t side) {
  const auto batch = static_cast<int64_t>(dot.as<DotAttrs>().lhs_batch.size());
  return side == 0 ? batch : batch + number_of_free(fn, dot, 0);
}

}  // namespace

DotDimKind dot_dim_kind(const DotAttrs& attrs, size_t side, int64_t dim) {
  if (contains(side == 0 ? attrs.lhs_batch : attrs.rhs_batch, dim)) return DotDimKind::kBatch;
  if (contains(contracting(attrs, side), dim)) return DotDimKind::kContracting;
  return DotDimKind::kFree;
}

int64_t result_dim_of_free(const Function& fn, const Op& dot, size_t side, int64_t dim) {
  int64_t result = first_free(fn, dot, side);
  for (int64_t d = 0; d < dim; ++d) {
    result += dot_dim_kind(dot.as<DotAttrs>(), side, d) == DotDimKind::kFree;
  }
  return result;
}

std::optional<DotDim> free_dim_of_result(const Function& fn, const Op& dot, int64_t dim) {
  for (size_t side = 0; side < 2; ++side) {
    for (int64_t d = 0; d < fn.type(dot.operands[side]).rank(); ++d) {
      if (dot_dim_kind(dot.as<DotAttrs>(), side, d) == DotDimKind::kFree &&
          result_dim_of_free(fn, dot, side, d) == dim) {
        return DotDim{side, d};
      }
    }
  }
  return std::nullopt;
}

int64_t contracted_with(const DotAttrs& attrs, size_t side, int64_t dim) {
  const Dims& own = contracting(attrs, side);
  const auto at = static_cast<size_t>(std::find(own.begin(), own.end(), dim) - own.begin());
  return contracting(attrs, 1 - side)[at];
}

}  // namespace spmd
