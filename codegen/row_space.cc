#include "codegen/row_space.h"

#include <algorithm>

#include "codegen/views.h"
#include "runtime/plan/plan.h"

namespace spmd::codegen {
namespace {

int64_t product(const Dims& dims) {
  int64_t count = 1;
  for (int64_t size : dims) count *= size;
  return count;
}

// Which dimension of `shape` each dimension of a refinement is a part of; nullopt: it is none.
std::optional<std::vector<size_t>> sources(const Dims& shape, const Dims& refined) {
  std::vector<size_t> result;
  size_t to = 0;
  for (size_t d = 0; d < shape.size(); ++d) {
    for (int64_t covered = 1; covered < shape[d]; ++to) {
      if (to == refined.size() || shape[d] % (covered * refined[to]) != 0) return std::nullopt;
      covered *= refined[to];
      result.push_back(d);
    }
  }
  if (to != refined.size()) return std::nullopt;
  return result;
}

// `space` with dimensions split as `refined` says; nullopt when they cannot be.
std::optional<RowSpace> split(const RowSpace& space, const Dims& refined) {
  const auto from = sources(space.shape, refined);
  if (!from) return std::nullopt;
  RowSpace result{refined, {}};
  for (size_t d : *from) result.is_column.push_back(space.is_column[d]);
  return result;
}

// `space` with its rows split.
RowSpace split_rows(const RowSpace& space, const Dims& rows) {
  RowSpace result;
  size_t next = 0;
  for (size_t d = 0; d < space.shape.size(); ++d) {
    if (space.is_column[d]) {
      result.shape.push_back(space.shape[d]);
      result.is_column.push_back(true);
      continue;
    }
    for (int64_t covered = 1; covered < space.shape[d]; covered *= rows[next++]) {
      result.shape.push_back(rows[next]);
      result.is_column.push_back(false);
    }
  }
  return result;
}

// A view on `shape` becomes one on `refined`.
void refine(plan::View& view, const Dims& shape, const Dims& refined) {
  if (view.strides_size() == 0 && product(shape) != 1) return;  // a scalar
  const Dims strides = strides_on(from_plan(view, shape), refined);
  view.mutable_strides()->Assign(strides.begin(), strides.end());
}

void set_dims(google::protobuf::RepeatedField<int64_t>* field, const Dims& dims) {
  field->Assign(dims.begin(), dims.end());
}

bool move_elementwise(plan::Elementwise& step, const Dims& to) {
  const Dims shape = plan::dims_of(step.shape());
  const auto parts = sources(shape, to);
  if (!parts) return false;
  for (plan::Instruction& instruction : *step.mutable_program()->mutable_instructions()) {
    if (instruction.op() != plan::IOTA) continue;
    const auto dim = static_cast<size_t>(instruction.immediate());
    if (std::count(parts->begin(), parts->end(), dim) != 1) return false;
    instruction.set_immediate(std::find(parts->begin(), parts->end(), dim) - parts->begin());
  }
  for (plan::View& view : *step.mutable_inputs()) refine(view, shape, to);
  for (plan::View& view : *step.mutable_outputs()) refine(view, shape, to);
  set_dims(step.mutable_shape(), to);
  return true;
}

bool move_reduce(plan::Reduce& step, const RowSpace& to) {
  const Dims shape = plan::dims_of(step.shape());
  Dims kept;
  for (size_t d = 0; d < shape.size(); ++d)
    if (std::find(step.dims().begin(), step.dims().end(), static_cast<int64_t>(d)) ==
        step.dims().end())
      kept.push_back(shape[d]);
  for (plan::View& view : *step.mutable_inputs()) refine(view, shape, to.shape);
  for (plan::View& view : *step.mutable_outputs()) refine(view, kept, to.rows());
  set_dims(step.mutable_shape(), to.shape);
  step.clear_dims();
  for (size_t d = 0; d < to.shape.size(); ++d)
    if (to.is_column[d]) step.add_dims(static_cast<int64_t>(d));
  return true;
}

}  // namespace

bool RowSpace::has_columns() const {
  return std::find(is_column.begin(), is_column.end(), true) != is_column.end();
}

Dims RowSpace::rows() const {
  Dims result;
  for (size_t d = 0; d < shape.size(); ++d)
    if (!is_column[d]) result.push_back(shape[d]);
  return result;
}

int64_t RowSpace::num_elements() const { return product(shape); }
int64_t RowSpace::num_rows() const { return product(rows()); }

std::optional<RowSpace> row_space(const plan::Step& step) {
  if (!step.has_elementwise() && !step.has_reduce()) return std::nullopt;
  const Dims shape =
      plan::dims_of(step.has_reduce() ? step.reduce().shape() : step.elementwise().shape());
  RowSpace space;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == 0) return std::nullopt;
    if (shape[d] == 1) continue;
    const auto& dims = step.reduce().dims();
    space.shape.push_back(shape[d]);
    space.is_column.push_back(std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) !=
                              dims.end());
  }
  if (step.has_reduce() && !space.has_columns()) return std::nullopt;
  return space;
}

std::optional<RowSpace> common_space(const RowSpace& a, const RowSpace& b) {
  if (!a.has_columns() && b.has_columns()) return common_space(b, a);
  if (a.num_elements() == b.num_elements()) {
    const std::optional<Dims> refined = common_refinement(a.shape, b.shape);
    if (!refined) return std::nullopt;
    const std::optional<RowSpace> result = split(a, *refined);
    if (!result || !b.has_columns()) return result;
    const std::optional<RowSpace> other = split(b, *refined);
    return other && other->is_column == result->is_column ? result : std::nullopt;
  }
  if (b.has_columns() || b.num_elements() != a.num_rows()) return std::nullopt;
  const std::optional<Dims> rows = common_refinement(a.rows(), b.shape);
  if (!rows || !sources(a.rows(), *rows)) return std::nullopt;
  return split_rows(a, *rows);
}

bool move_to(plan::Step& step, const RowSpace& to) {
  if (step.has_reduce()) return move_reduce(*step.mutable_reduce(), to);
  const bool whole = plan::element_count(step.elementwise().shape()) == to.num_elements();
  return move_elementwise(*step.mutable_elementwise(), whole ? to.shape : to.rows());
}

}  // namespace spmd::codegen
