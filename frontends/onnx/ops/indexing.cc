// Gathers and scatters.
#include <algorithm>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

Expr indices_of(Node& node, int input, int64_t size) {
  const Expr indices = node.in(input);
  node.require(is_integer(indices.dtype()), "its indices are not integers");
  return wrap_indices(indices, size);
}

void gather_op(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  node.set(0, take(x, indices_of(node, 1, x.dim(dim)), dim));
}

void gather_elements(Node& node) {
  const Expr x = node.in(0);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  const Expr indices = indices_of(node, 1, x.dim(dim));
  node.require(indices.rank() == x.rank(), "its indices have another rank than its data");
  node.set(0, take_along(x, indices, dim));
}

// Index vectors over dimensions from `batch` on, in the last dimension, made non-negative.
Expr index_vectors(Node& node, int input, const Expr& x, int64_t batch) {
  const Expr indices = node.in(input);
  node.require(is_integer(indices.dtype()) && indices.rank() >= 1, "its indices are malformed");
  const int64_t depth = indices.dim(indices.rank() - 1);
  node.require(batch + depth <= x.rank(), "its index vectors are longer than the data's rank");
  const Dims sizes(x.shape().begin() + batch, x.shape().begin() + batch + depth);
  const Expr limits = convert(integers(node.writer(), sizes), indices.dtype());
  return select(less(indices, 0.0), indices + limits, indices);
}

void gather_nd_op(Node& node) {
  const Expr x = node.in(0);
  const int64_t batch = node.integer("batch_dims", 0);
  node.require(batch >= 0 && batch < x.rank() && batch < node.in(1).rank(),
               "its attribute batch_dims is out of range");
  node.set(0, gather_nd(x, index_vectors(node, 1, x, batch), batch));
}

// ---- scatter

OpCode reduction_of(Node& node) {
  const std::string name = node.text("reduction", "none");
  if (name == "none") return OpCode::kReturn;  // the last update wins
  if (name == "add") return OpCode::kAdd;
  if (name == "mul") return OpCode::kMultiply;
  if (name == "max") return OpCode::kMaximum;
  if (name == "min") return OpCode::kMinimum;
  node.unsupported(fmt::format("reduction \"{}\"", name));
}

Expr scatter(const Expr& x, const Expr& indices, const Expr& updates, ScatterAttrs attrs,
             OpCode reducer) {
  Function& fn = x.writer().function();
  const OpId op =
      x.builder().create(OpCode::kScatter, {x.id(), indices.id(), updates.id()}, std::move(attrs));
  if (reducer != OpCode::kReturn) {
    add_reducer_region(fn, op, reducer, x.dtype());
  } else {
    const BlockId region = fn.add_region(op);
    fn.add_block_argument(region, {x.dtype(), {}});
    const ValueId update = fn.add_block_argument(region, {x.dtype(), {}});
    Builder(fn, region).return_op({update});
  }
  return {x.writer(), fn.op(op).results[0]};
}

void scatter_nd(Node& node) {
  const Expr x = node.in(0), updates = node.in(2);
  const Expr indices = index_vectors(node, 1, x, 0);
  node.require(updates.dtype() == x.dtype(), "its updates have another element type than its data");
  if (updates.num_elements() == 0) return node.set(0, x);
  const int64_t depth = indices.dim(indices.rank() - 1);
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = dims_from(0, depth);
  attrs.update_window_dims = dims_from(indices.rank() - 1, updates.rank());
  attrs.index_vector_dim = indices.rank() - 1;
  node.set(0, scatter(x, indices, updates, std::move(attrs), reduction_of(node)));
}

void scatter_elements(Node& node) {
  const Expr x = node.in(0), updates = node.in(2);
  const int64_t dim = node.axis(node.integer("axis", 0), x.rank());
  const Expr indices = indices_of(node, 1, x.dim(dim));
  node.require(indices.rank() == x.rank() && updates.shape() == indices.shape() &&
                   updates.dtype() == x.dtype(),
               "its indices or updates do not fit its data");
  if (updates.num_elements() == 0) return node.set(0, x);
  // One index vector per update: its own position, but for `dim`.
  std::vector<Expr> parts;
  for (int64_t d = 0; d < x.rank(); ++d) {
    node.require(indices.dim(d) <= x.dim(d) || d == dim, "its indices are larger than its data");
    const Expr part = d == dim ? indices : iota(node.writer(), indices.type(), d);
    parts.push_back(unsqueeze(part, x.rank()));
  }
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = dims_from(0, x.rank());
  attrs.index_vector_dim = x.rank();
  node.set(0,
           scatter(x, concatenate(parts, x.rank()), updates, std::move(attrs), reduction_of(node)));
}

// Writes `update` at a position of its own for each batch entry along `axis`: a key-value cache.
void tensor_scatter(Node& node) {
  const Expr cache = node.in(0), update = node.in(1);
  node.require(cache.rank() == update.rank() && cache.rank() >= 2, "its update does not fit");
  const int64_t dim = node.axis(node.integer("axis", -2), cache.rank());
  node.require(dim != 0, "its axis is the batch dimension");
  const int64_t size = cache.dim(dim), length = update.dim(dim);
  const TensorType index{DType::kS64, update.shape()};
  Expr at = iota(node.writer(), index, dim);
  if (const Expr starts = node.in_or_none(2)) {
    at = at + broadcast_along(convert(starts, DType::kS64), update.shape(), 0);
  }
  const std::string mode = node.text("mode", "linear");
  node.require(mode == "linear" || mode == "circular", "its attribute mode is unknown");
  if (mode == "circular") at = remainder(at, static_cast<double>(size));
  node.require(length <= size, "its update is longer than its cache");
  std::vector<Expr> parts;
  for (int64_t d = 0; d < cache.rank(); ++d) {
    parts.push_back(unsqueeze(d == dim ? at : iota(node.writer(), index, d), cache.rank()));
  }
  ScatterAttrs attrs;
  attrs.inserted_window_dims = attrs.scatter_dims_to_operand_dims = dims_from(0, cache.rank());
  attrs.index_vector_dim = cache.rank();
  node.set(0, scatter(cache, concatenate(parts, cache.rank()), update, std::move(attrs),
                      OpCode::kReturn));
}

// ---- others

void one_hot_op(Node& node) {
  const Expr values = node.in(2);
  const int64_t depth = static_cast<int64_t>(node.known_numbers(1).at(0));
  node.at_least(0, depth, "its depth");
  Expr indices = node.in(0);
  if (!is_integer(indices.dtype())) indices = convert(indices, DType::kS64);
  indices = wrap_indices(convert(indices, DType::kS64), depth);
  node.require(values.rank() == 1 && values.dim(0) == 2, "its values are not two");
  const int64_t dim = node.axis(node.integer("axis", -1), indices.rank() + 1);
  const Expr off = reshape(slice_dim(values, 0, 0, 1), {});
  const Expr on = reshape(slice_dim(values, 0, 1, 2), {});
  node.set(0, select(one_hot(indices, depth, dim), on, off));
}

// Reverses the first `lengths[b]` elements along the time dimension of each batch entry.
void reverse_sequence(Node& node) {
  const Expr x = node.in(0), lengths = convert(node.in(1), DType::kS64);
  node.require(x.rank() >= 2, "its input has fewer than two dimensions");
  const int64_t batch = node.axis(node.integer("batch_axis", 1), x.rank());
  const int64_t time = node.axis(node.integer("time_axis", 0), x.rank());
  const Expr position = iota(node.writer(), {DType::kS64, x.shape()}, time);
  const Expr length = broadcast_along(lengths, x.shape(), batch);
  const Expr source = select(less(position, length), length - 1.0 - position, position);
  node.set(0, take_along(x, source, time));
}

}  // namespace

std::span<const OpHandler> indexing_ops() {
  static constexpr OpHandler kOps[] = {
      {"Gather", gather_op},
      {"GatherElements", gather_elements},
      {"GatherND", gather_nd_op},
      {"GatherND", gather_nd_op, Accepts::kTensors, 1, kMicrosoft},
      {"OneHot", one_hot_op, Accepts::kNumbers},
      {"ReverseSequence", reverse_sequence},
      {"Scatter", scatter_elements},
      {"ScatterElements", scatter_elements},
      {"ScatterND", scatter_nd},
      {"TensorScatter", tensor_scatter},
  };
  return kOps;
}

}  // namespace spmd::onnx
