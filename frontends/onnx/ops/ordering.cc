// The k largest or smallest.
#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {
namespace {

// Sorts along `dim` with the elements' positions, by value in the order asked for and then by
// position. A NaN counts as the largest.
std::vector<Expr> sorted(const Expr& x, int64_t dim, bool descending) {
  Writer& writer = x.writer();
  Function& fn = writer.function();
  const Expr positions = iota(writer, {DType::kS64, x.shape()}, dim);
  const OpId op =
      writer.builder().create(OpCode::kSort, {x.id(), positions.id()}, SortAttrs{dim, true});
  const BlockId region = fn.add_region(op);
  std::vector<Expr> arguments;
  for (const DType dtype : {x.dtype(), x.dtype(), DType::kS64, DType::kS64}) {
    arguments.emplace_back(writer, fn.add_block_argument(region, {dtype, {}}));
  }
  writer.push(region);
  const Expr &first = arguments[0], &second = arguments[1];
  const CompareDirection order = descending ? CompareDirection::kGt : CompareDirection::kLt;
  Expr before = compare(order, first, second);
  if (is_float(x.dtype())) {
    const Expr larger_nan = descending ? is_nan(first) & bitwise_not(is_nan(second))
                                       : is_nan(second) & bitwise_not(is_nan(first));
    before = before | larger_nan;
  }
  writer.builder().return_op({before.id()});
  writer.pop();
  return {{writer, fn.op(op).results[0]}, {writer, fn.op(op).results[1]}};
}

void top_k(Node& node) {
  const Expr x = node.in(0);
  node.require(x.rank() > 0, "its input is a scalar");
  const int64_t dim = node.axis(node.integer("axis", -1), x.rank());
  const int64_t k = node.opset() < 10 ? node.integer("k") : node.known_integer(1);
  node.require(k >= 0 && k <= x.dim(dim), "its k is larger than the dimension");
  const std::vector<Expr> all = sorted(x, dim, node.flag("largest", true));
  node.set(0, slice_dim(all[0], dim, 0, k));
  node.set(1, slice_dim(all[1], dim, 0, k));
}

}  // namespace

std::span<const OpHandler> ordering_ops() {
  static constexpr OpHandler kOps[] = {
      {"TopK", top_k, Accepts::kNumbers},
  };
  return kOps;
}

}  // namespace spmd::onnx
