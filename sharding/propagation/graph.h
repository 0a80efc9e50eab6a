// What axes spread through: tensors, tied to each other by the factors of ops.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sharding/propagation/factor_axes.h"
#include "sharding/propagation/origins.h"

namespace spmd::propagation {

struct DimState {
  AtomList axes;
  bool open = true;
  int level = 0;  // priority from which the axes may spread
};

// Entries [first, first + count) of one of the graph's lists.
struct Slice {
  uint32_t first = 0, count = 0;
};

struct ValueState {
  Slice dims;         // of Graph::dims
  AtomMask used = 0;  // axes of the dims, and axes that must not be used
  int64_t elements = 1;
};

struct Tensor {
  uint32_t state;
  Slice dims;  // of Graph::tensor_dims
};

// Tensors that share factors: an op, or one carried value of a loop.
struct Node {
  Slice factors;              // of Graph::factors and Graph::order
  Slice tensors;              // of Graph::tensors
  bool pass_through = false;  // an elementwise or shape op
  int only_source = -1;       // the only tensor whose axes spread, or -1
  OpId op = OpId::kNone;      // none: main's results
};

template <typename List>
auto part(List& list, Slice slice) {
  return std::span(list.data() + slice.first, slice.count);
}

// A program has many small nodes: what they consist of lies in a few lists, in program order.
struct Graph {
  std::vector<ValueState> states;  // by value id, then fixed states
  std::vector<DimState> dims;
  std::vector<Node> nodes;
  std::vector<Factor> factors;
  std::vector<int> order;  // of each node's factors: those of the largest tensors first
  std::vector<Tensor> tensors;
  std::vector<DimFactors> tensor_dims;
  std::vector<int> levels;  // of priority that occur, ascending

  std::span<DimState> dims_of(const ValueState& state) { return part(dims, state.dims); }
  std::span<const DimState> dims_of(const ValueState& state) const {
    return part(dims, state.dims);
  }
  std::span<const Factor> factors_of(const Node& node) const { return part(factors, node.factors); }
  std::span<const int> order_of(const Node& node) const { return part(order, node.factors); }
  std::span<const Tensor> tensors_of(const Node& node) const { return part(tensors, node.tensors); }
  std::span<const DimFactors> dims_of(const Tensor& tensor) const {
    return part(tensor_dims, tensor.dims);
  }
};

// The annotations of main's values and the nodes that tie them, in program order. Throws UserError
// when the values of a sharding group differ in rank.
Graph collect_graph(const Module& module, const AtomTable& atoms, OriginTable& origins);

}  // namespace spmd::propagation
