// The index space of steps that are fused over rows, and steps rewritten from one to another.
#pragma once

#include <optional>
#include <vector>

#include "ir/type.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// Dimensions, of which some are reduced; the others are the rows. Sizes of 1 are left out.
struct RowSpace {
  Dims shape;
  std::vector<bool> is_column;  // by dimension; none in a space without reductions

  bool has_columns() const;
  Dims rows() const;
  int64_t num_elements() const;
  int64_t num_rows() const;
};

// The space of an Elementwise or Reduce; nullopt for other steps, without elements, and for a
// Reduce over dimensions of size 1, which reduces nothing.
std::optional<RowSpace> row_space(const plan::Step& step);

// The coarsest space into whose dimensions both can be split, so that each element, or each row
// when `b` has as many elements as `a` has rows, is one element of `b`; the one with columns may be
// either. nullopt when they do not fit.
std::optional<RowSpace> common_space(const RowSpace& a, const RowSpace& b);

// A step, on all elements or on the rows, moves to a finer space. False when an IOTA's dimension
// would be split.
bool move_to(plan::Step& step, const RowSpace& to);

}  // namespace spmd::codegen
