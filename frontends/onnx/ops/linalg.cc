// Determinants.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// One element of each matrix's dimension `dim` at `index` (a scalar): that row, or column.
Expr line_at(const Expr& matrices, const Expr& index, int64_t dim) {
  return squeeze(dynamic_slice_dim(matrices, index, 1, dim), dim);
}

// Gaussian elimination with partial pivoting on matrices [batch, n, n], one column a trip. The
// largest element of the column at or below the diagonal becomes the pivot; its row and the
// diagonal one change places.
std::vector<Expr> eliminate(const Expr& k, const std::vector<Expr>& carried) {
  const Expr matrices = carried[0], product = carried[1];
  const int64_t batch = matrices.dim(0), n = matrices.dim(1);
  Writer& writer = matrices.writer();
  const Dims lines = {batch, n};
  const Expr row = iota(writer, {DType::kS32, lines}, 1);
  const Expr column = line_at(matrices, k, 2);
  const Expr size = select(less(row, broadcast_to(k, lines)), -1.0, abs(column));
  const Expr pivot_row = convert(index_of_largest(size, 1), DType::kS32);  // [batch]
  const Expr is_pivot = equal(row, broadcast_in(pivot_row, lines, {0}));
  const Expr is_diagonal = equal(row, broadcast_to(k, lines));
  const auto spread = [&](const Expr& x) { return broadcast_in(x, matrices.shape(), {0, 1}); };
  const auto across = [&](const Expr& x) { return broadcast_in(x, matrices.shape(), {0, 2}); };
  const Expr pivot_line = sum(select(spread(is_pivot), matrices, 0.0), {1});
  const Expr diagonal_line = line_at(matrices, k, 1);
  const Expr swapped = select(spread(is_diagonal), across(pivot_line),
                              select(spread(is_pivot), across(diagonal_line), matrices));
  const Expr pivot = line_at(pivot_line, k, 1);  // [batch]
  const Expr divisor = select(equal(pivot, 0.0), 1.0, pivot);
  const Expr below = greater(row, broadcast_to(k, lines));
  const Expr factors =
      select(below, line_at(swapped, k, 2) / broadcast_in(divisor, lines, {0}), 0.0);
  const Expr eliminated = swapped - spread(factors) * across(pivot_line);
  const Expr stays = equal(pivot_row, broadcast_to(k, {batch}));
  return {eliminated, product * select(stays, pivot, -pivot)};
}

void det(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() >= 2 && x.dim(x.rank() - 1) == x.dim(x.rank() - 2),
               "its input is no square matrix");
  const int64_t n = x.dim(x.rank() - 1);
  Dims batch(x.shape().begin(), x.shape().end() - 2);
  int64_t count = 1;
  for (int64_t size : batch) count *= size;
  const Expr matrices = convert(reshape(x, {count, n, n}), compute_type(x.dtype()));
  const Expr one = splat(node.writer(), {matrices.dtype(), {count}}, 1);
  if (n == 0) return node.set(0, reshape(convert(one, x.dtype()), batch));
  const Expr product = counted_loop(node.writer(), n, {matrices, one}, eliminate)[1];
  node.set(0, reshape(convert(product, x.dtype()), batch));
}

}  // namespace

std::span<const OpHandler> linalg_ops() {
  static constexpr OpHandler kOps[] = {
      {"Det", det, Accepts::kFloats},
  };
  return kOps;
}

}  // namespace spmd::onnx
