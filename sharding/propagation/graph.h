// What axes spread through: tensors, tied to each other by the factors of ops.
#pragma once

#include <cstdint>
#include <vector>

#include "sharding/propagation/factor_axes.h"
#include "sharding/propagation/origins.h"

namespace spmd::propagation {

struct DimState {
  AtomList axes;
  bool open = true;
  int level = 0;  // priority from which the axes may spread
};

struct ValueState {
  std::vector<DimState> dims;
  AtomMask used = 0;  // axes of the dims, and axes that must not be used
  int64_t elements = 1;
};

// Tensors that share factors: an op, or one carried value of a loop.
struct Node {
  std::vector<Factor> factors;
  std::vector<int> order;  // factors, those of the largest tensors first
  struct Tensor {
    uint32_t state;
    std::vector<DimFactors> dims;
  };
  std::vector<Tensor> tensors;
  bool pass_through = false;  // an elementwise or shape op
  int only_source = -1;       // the only tensor whose axes spread, or -1
  OpId op = OpId::kNone;      // none: main's results
};

struct Graph {
  std::vector<ValueState> states;  // by value id, then fixed states
  std::vector<Node> nodes;
  std::vector<int> levels;  // of priority that occur, ascending
};

// The annotations of main's values and the nodes that tie them, in program order. Throws UserError
// when the values of a sharding group differ in rank.
Graph collect_graph(const Module& module, const AtomTable& atoms, OriginTable& origins);

}  // namespace spmd::propagation
