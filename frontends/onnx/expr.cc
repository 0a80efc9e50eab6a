#include "frontends/onnx/expr.h"

#include <algorithm>
#include <numeric>

#include "support/error.h"

namespace spmd::onnx {
namespace {

std::string text_of(const Dims& shape) {
  std::string text;
  for (int64_t size : shape) text += fmt::format("{}{}", text.empty() ? "" : "x", size);
  return text.empty() ? "a scalar" : text;
}

Dims all_dims(int64_t rank) {
  Dims dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

// Both of one element type, broadcast to one shape.
std::pair<Expr, Expr> matched(const Expr& a, const Expr& b) {
  if (a.dtype() != b.dtype()) {
    throw UserError({}, fmt::format("operands of type {} and {} differ in element type",
                                    to_string(a.type()), to_string(b.type())));
  }
  const Dims shape = broadcast_shape(a.shape(), b.shape());
  return {broadcast_to(a, shape), broadcast_to(b, shape)};
}

}  // namespace

void Writer::push(BlockId block) {
  LocationRef location = builder().location;
  blocks_.emplace_back(fn_, block);
  builder().location = std::move(location);
}

void Writer::set_location(LocationRef location) { builder().location = std::move(location); }

// ---- constants

Expr constant(Writer& writer, Literal literal) {
  return {writer, writer.builder().constant(std::move(literal))};
}

Expr splat(Writer& writer, TensorType type, double value) {
  return {writer, writer.builder().splat(std::move(type), value)};
}

Expr splat_like(const Expr& like, double value) { return splat(like.writer(), like.type(), value); }

Expr integers(Writer& writer, const Dims& values) {
  return constant(
      writer, Literal::of<int64_t>({DType::kS64, {static_cast<int64_t>(values.size())}}, values));
}

Expr iota(Writer& writer, TensorType type, int64_t dim) {
  return {writer, writer.builder().iota(std::move(type), dim)};
}

// ---- elementwise

Dims broadcast_shape(const Dims& a, const Dims& b) {
  const size_t rank = std::max(a.size(), b.size());
  Dims shape(rank, 1);
  for (size_t i = 0; i < rank; ++i) {  // from the last dimension
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      throw UserError({}, fmt::format("shapes {} and {} do not broadcast", text_of(a), text_of(b)));
    }
    shape[rank - 1 - i] = x == 1 ? y : x;
  }
  return shape;
}

Expr broadcast_to(const Expr& x, const Dims& shape) {
  if (x.shape() == shape) return x;
  if (broadcast_shape(x.shape(), shape) != shape) {
    throw UserError(
        {}, fmt::format("shape {} does not broadcast to {}", text_of(x.shape()), text_of(shape)));
  }
  Dims dims = all_dims(x.rank());
  for (int64_t& dim : dims) dim += static_cast<int64_t>(shape.size()) - x.rank();
  return broadcast_in(x, shape, std::move(dims));
}

Expr broadcast_in(const Expr& x, Dims shape, Dims dims) {
  if (!is_valid(x.type().with_shape(shape))) throw UserError({}, "the result is too large");
  const Op* def = x.writer().function().def(x.id());
  if (def != nullptr && def->code == OpCode::kConstant) {
    const Literal& literal = def->as<ConstantAttrs>().value;
    if (literal.is_splat() || literal.type().num_elements() == 1) {
      return constant(x.writer(), Literal::splat(x.type().with_shape(std::move(shape)),
                                                 static_cast<const void*>(literal.data())));
    }
  }
  return expr(x, x.builder().broadcast(x.id(), std::move(shape), std::move(dims)));
}

Expr broadcast_along(const Expr& x, const Dims& shape, int64_t dim) {
  if (x.rank() == 0) return broadcast_in(x, shape, {});
  return broadcast_in(x, shape, {dim});
}

Expr convert(const Expr& x, DType dtype) { return expr(x, x.builder().convert(x.id(), dtype)); }

Expr unary(OpCode code, const Expr& x) { return expr(x, x.builder().value(code, {x.id()})); }

Expr binary(OpCode code, const Expr& a, const Expr& b) {
  const auto [x, y] = matched(a, b);
  return expr(x, x.builder().binary(code, x.id(), y.id()));
}

Expr binary(OpCode code, const Expr& a, double b) {
  return expr(a, a.builder().binary(code, a.id(), splat_like(a, b).id()));
}

Expr binary(OpCode code, double a, const Expr& b) {
  return expr(b, b.builder().binary(code, splat_like(b, a).id(), b.id()));
}

Expr compare(CompareDirection direction, const Expr& a, const Expr& b) {
  const auto [x, y] = matched(a, b);
  return expr(x, x.builder().compare(direction, x.id(), y.id()));
}

Expr compare(CompareDirection direction, const Expr& a, double b) {
  return compare(direction, a, splat_like(a, b));
}

Expr select(const Expr& predicate, const Expr& on_true, const Expr& on_false) {
  const auto [x, y] = matched(on_true, on_false);
  const Dims shape = broadcast_shape(predicate.shape(), x.shape());
  return expr(x, x.builder().select(broadcast_to(predicate, shape).id(),
                                    broadcast_to(x, shape).id(), broadcast_to(y, shape).id()));
}

Expr select(const Expr& predicate, const Expr& on_true, double on_false) {
  return select(predicate, on_true, splat_like(on_true, on_false));
}

Expr select(const Expr& predicate, double on_true, const Expr& on_false) {
  return select(predicate, splat_like(on_false, on_true), on_false);
}

Expr is_nan(const Expr& x) { return not_equal(x, x); }

Expr clamp(double low, const Expr& x, double high) { return min(max(x, low), high); }

Expr relu(const Expr& x) { return max(x, 0.0); }

// ---- shape

Expr reshape(const Expr& x, Dims shape) {
  const TensorType type = x.type().with_shape(shape);
  if (!is_valid(type) || type.num_elements() != x.num_elements()) {
    throw UserError({}, fmt::format("shape {} has not as many elements as {}", text_of(shape),
                                    text_of(x.shape())));
  }
  return expr(x, x.builder().reshape(x.id(), std::move(shape)));
}

Expr transpose(const Expr& x, Dims permutation) {
  if (permutation == all_dims(x.rank())) return x;
  return expr(x, x.builder().transpose(x.id(), std::move(permutation)));
}

Expr move_dim(const Expr& x, int64_t from, int64_t to) {
  Dims permutation = all_dims(x.rank());
  permutation.erase(permutation.begin() + from);
  permutation.insert(permutation.begin() + to, from);
  return transpose(x, std::move(permutation));
}

Expr swap_dims(const Expr& x, int64_t a, int64_t b) {
  Dims permutation = all_dims(x.rank());
  std::swap(permutation[static_cast<size_t>(a)], permutation[static_cast<size_t>(b)]);
  return transpose(x, std::move(permutation));
}

Expr unsqueeze(const Expr& x, int64_t at) {
  Dims shape = x.shape();
  shape.insert(shape.begin() + at, 1);
  return reshape(x, std::move(shape));
}

Expr squeeze(const Expr& x, int64_t dim) {
  Dims shape = x.shape();
  shape.erase(shape.begin() + dim);
  return reshape(x, std::move(shape));
}

Expr slice_dim(const Expr& x, int64_t dim, int64_t start, int64_t limit, int64_t stride) {
  Dims starts(x.shape().size(), 0), limits = x.shape(), strides(x.shape().size(), 1);
  const auto at = static_cast<size_t>(dim);
  if (start == 0 && limit == limits[at] && stride == 1) return x;
  starts[at] = start;
  limits[at] = limit;
  strides[at] = stride;
  return expr(x,
              x.builder().slice(x.id(), std::move(starts), std::move(limits), std::move(strides)));
}

Expr pad(const Expr& x, double value, Dims low, Dims high, Dims interior) {
  const auto zero = [](int64_t size) { return size == 0; };
  if (std::all_of(low.begin(), low.end(), zero) && std::all_of(high.begin(), high.end(), zero) &&
      std::all_of(interior.begin(), interior.end(), zero)) {
    return x;
  }
  const ValueId padding = x.builder().scalar(x.dtype(), value);
  return expr(
      x, x.builder().pad(x.id(), padding, std::move(low), std::move(high), std::move(interior)));
}

Expr reverse(const Expr& x, Dims dims) {
  return expr(x, x.builder().value(OpCode::kReverse, {x.id()}, ReverseAttrs{std::move(dims)}));
}

Expr concatenate(std::span<const Expr> parts, int64_t dim) {
  if (parts.size() == 1) return parts[0];
  std::vector<ValueId> operands;
  for (const Expr& part : parts) operands.push_back(part.id());
  return expr(parts[0], parts[0].builder().value(OpCode::kConcatenate, std::move(operands),
                                                 ConcatenateAttrs{dim}));
}

// ---- reduction, contraction

Expr reduce(const Expr& x, Dims dims, OpCode reducer, bool keep) {
  if (dims.empty()) return x;
  Dims kept = x.shape();
  for (int64_t dim : dims) kept[static_cast<size_t>(dim)] = 1;
  const ValueId init = x.builder().constant(reducer_identity(reducer, x.dtype()));
  const Expr reduced = expr(x, x.builder().reduce(x.id(), init, std::move(dims), reducer));
  return keep ? reshape(reduced, std::move(kept)) : reduced;
}

Expr mean(const Expr& x, const Dims& dims, bool keep) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= x.dim(dim);
  return sum(x, dims, keep) / static_cast<double>(count);
}

Expr softmax(const Expr& x, const Dims& dims) {
  const Expr e = exp(x - reduce_max(x, dims, true));
  return e / sum(e, dims, true);
}

Expr log_softmax(const Expr& x, const Dims& dims) {
  const Expr shifted = x - reduce_max(x, dims, true);
  return shifted - log(sum(exp(shifted), dims, true));
}

Expr dot(const Expr& a, const Expr& b, DotAttrs attrs) {
  return expr(a, a.builder().value(OpCode::kDotGeneral, {a.id(), b.id()}, std::move(attrs)));
}

Expr matmul(const Expr& a, const Expr& b) {
  if (a.rank() == 0 || b.rank() == 0) throw UserError({}, "matmul of a scalar");
  if (a.dtype() != b.dtype()) {
    throw UserError({}, fmt::format("operands of type {} and {} differ in element type",
                                    to_string(a.type()), to_string(b.type())));
  }
  if (a.rank() == 1 || b.rank() == 1 || b.rank() == 2) {
    // No batch dimensions on the right: one contraction, whatever the left has.
    if (b.rank() <= 2) {
      DotAttrs attrs;
      attrs.lhs_contracting = {a.rank() - 1};
      attrs.rhs_contracting = {0};
      return dot(a, b, std::move(attrs));
    }
    return squeeze(matmul(unsqueeze(a, 0), b), b.rank() - 2);
  }
  const auto split = [](const Expr& x) {
    return std::pair<Dims, Dims>{Dims(x.shape().begin(), x.shape().end() - 2),
                                 Dims(x.shape().end() - 2, x.shape().end())};
  };
  const auto [a_batch, a_matrix] = split(a);
  const auto [b_batch, b_matrix] = split(b);
  const Dims batch = broadcast_shape(a_batch, b_batch);
  const auto broadcast = [&](const Expr& x, const Dims& matrix) {
    Dims shape = batch;
    shape.insert(shape.end(), matrix.begin(), matrix.end());
    return broadcast_to(x, shape);
  };
  const auto rank = static_cast<int64_t>(batch.size());
  DotAttrs attrs;
  attrs.lhs_batch = attrs.rhs_batch = all_dims(rank);
  attrs.lhs_contracting = {rank + 1};
  attrs.rhs_contracting = {rank};
  return dot(broadcast(a, a_matrix), broadcast(b, b_matrix), std::move(attrs));
}

}  // namespace spmd::onnx
