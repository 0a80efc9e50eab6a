// Gathers, slices at run-time positions and loops of Expr.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/expr.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

Dims range(int64_t from, int64_t to) {
  Dims dims;
  for (int64_t i = from; i < to; ++i) dims.push_back(i);
  return dims;
}

Expr gather(const Expr& x, const Expr& indices, GatherAttrs attrs) {
  return expr(x, x.builder().value(OpCode::kGather, {x.id(), indices.id()}, std::move(attrs)));
}

// One start index per dimension: `start` for `dim`, zero for the others.
std::vector<ValueId> starts_at(const Expr& x, const Expr& start, int64_t dim) {
  const ValueId zero = splat_like(start, 0).id();
  std::vector<ValueId> starts(x.shape().size(), zero);
  starts[static_cast<size_t>(dim)] = start.id();
  return starts;
}

}  // namespace

Expr take(const Expr& x, const Expr& indices, int64_t dim) {
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = attrs.start_index_map = {dim};
  attrs.index_vector_dim = indices.rank();
  attrs.slice_sizes = x.shape();
  attrs.slice_sizes[static_cast<size_t>(dim)] = 1;
  attrs.offset_dims = range(0, dim);
  for (int64_t d = dim + 1; d < x.rank(); ++d) attrs.offset_dims.push_back(d - 1 + indices.rank());
  if (x.dim(dim) == 0) {
    attrs.slice_sizes[static_cast<size_t>(dim)] = 0;
    if (indices.num_elements() > 0)
      throw UserError({}, "elements are taken from an empty dimension");
    Dims shape = x.shape();
    shape.erase(shape.begin() + dim);
    shape.insert(shape.begin() + dim, indices.shape().begin(), indices.shape().end());
    return splat(x.writer(), x.type().with_shape(std::move(shape)), 0);
  }
  return gather(x, indices, std::move(attrs));
}

Expr take_along(const Expr& x, const Expr& indices, int64_t dim) {
  Expr from = x;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == dim) continue;
    if (indices.dim(d) > x.dim(d)) {
      throw UserError({}, fmt::format("the indices have size {} in dimension {}, the data {}",
                                      indices.dim(d), d, x.dim(d)));
    }
    from = slice_dim(from, d, 0, indices.dim(d));
  }
  if (indices.num_elements() == 0) {
    return splat(x.writer(), x.type().with_shape(indices.shape()), 0);
  }
  GatherAttrs attrs;
  attrs.collapsed_slice_dims = attrs.start_index_map = {dim};
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (d == dim) continue;
    attrs.operand_batching_dims.push_back(d);
    attrs.start_indices_batching_dims.push_back(d);
  }
  attrs.index_vector_dim = indices.rank();
  attrs.slice_sizes.assign(x.shape().size(), 1);
  return gather(from, indices, std::move(attrs));
}

Expr gather_nd(const Expr& x, const Expr& indices, int64_t batch) {
  const int64_t last = indices.rank() - 1;
  const int64_t depth = indices.dim(last);
  GatherAttrs attrs;
  attrs.operand_batching_dims = attrs.start_indices_batching_dims = range(0, batch);
  attrs.start_index_map = attrs.collapsed_slice_dims = range(batch, batch + depth);
  attrs.index_vector_dim = last;
  attrs.slice_sizes = x.shape();
  for (int64_t d = 0; d < batch; ++d) {
    attrs.slice_sizes[static_cast<size_t>(d)] = std::min<int64_t>(1, x.dim(d));
  }
  for (int64_t d = batch; d < batch + depth; ++d) attrs.slice_sizes[static_cast<size_t>(d)] = 1;
  attrs.offset_dims = range(last, last + x.rank() - batch - depth);
  if (indices.num_elements() == 0 && depth > 0) {
    Dims shape(indices.shape().begin(), indices.shape().end() - 1);
    shape.insert(shape.end(), x.shape().begin() + batch + depth, x.shape().end());
    return splat(x.writer(), x.type().with_shape(std::move(shape)), 0);
  }
  return gather(x, indices, std::move(attrs));
}

Expr wrap_indices(const Expr& indices, int64_t size) {
  if (is_unsigned_int(indices.dtype())) return indices;
  return select(less(indices, 0.0), indices + static_cast<double>(size), indices);
}

Expr dynamic_slice_dim(const Expr& x, const Expr& start, int64_t size, int64_t dim) {
  std::vector<ValueId> operands = starts_at(x, start, dim);
  operands.insert(operands.begin(), x.id());
  Dims sizes = x.shape();
  sizes[static_cast<size_t>(dim)] = size;
  return expr(x, x.builder().value(OpCode::kDynamicSlice, std::move(operands),
                                   DynamicSliceAttrs{std::move(sizes)}));
}

Expr dynamic_update_dim(const Expr& x, const Expr& update, const Expr& start, int64_t dim) {
  std::vector<ValueId> operands = starts_at(x, start, dim);
  operands.insert(operands.begin(), {x.id(), update.id()});
  return expr(x, x.builder().value(OpCode::kDynamicUpdateSlice, std::move(operands)));
}

std::vector<Expr> counted_loop(Writer& writer, int64_t trips, const std::vector<Expr>& carried,
                               const LoopBody& body) {
  Function& fn = writer.function();
  std::vector<ValueId> initial = {splat(writer, {DType::kS32, {}}, 0).id()};
  for (const Expr& value : carried) initial.push_back(value.id());
  const OpId loop = writer.builder().create(OpCode::kWhile, initial);

  // Adds a region with one argument per carried value.
  const auto open_region = [&] {
    const BlockId region = fn.add_region(loop);
    std::vector<Expr> arguments;
    for (ValueId value : initial) {
      arguments.emplace_back(writer, fn.add_block_argument(region, fn.type(value)));
    }
    writer.push(region);
    return arguments;
  };
  std::vector<Expr> arguments = open_region();
  writer.builder().return_op({less(arguments[0], static_cast<double>(trips)).id()});
  writer.pop();

  arguments = open_region();
  const Expr trip = arguments[0];
  const std::vector<Expr> next = body(trip, {arguments.begin() + 1, arguments.end()});
  SPMD_CHECK(next.size() == carried.size(), "a loop body with other values than it got");
  std::vector<ValueId> results = {(trip + 1.0).id()};
  for (size_t i = 0; i < next.size(); ++i) {
    if (next[i].type() != carried[i].type()) {
      throw UserError({}, fmt::format("a loop's value changes from {} to {}",
                                      to_string(carried[i].type()), to_string(next[i].type())));
    }
    results.push_back(next[i].id());
  }
  writer.builder().return_op(std::move(results));
  writer.pop();

  std::vector<Expr> values;
  for (size_t i = 0; i < carried.size(); ++i)
    values.emplace_back(writer, fn.op(loop).results[i + 1]);
  return values;
}

}  // namespace spmd::onnx
