// The cheapest set of nodes that separates sources from targets in a directed graph.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace spmd::codegen {

class NodeCut {
 public:
  static constexpr int64_t kNever = INT64_C(1) << 60;  // the cost of a node that must not be cut

  // Returns the node's number: 0, 1, ...
  int add_node(int64_t cost);
  void add_edge(int from, int to);
  void add_source(int node);
  void add_target(int node);

  // Finds a cut of least cost, the one nearest to the targets, as a minimum cut with each node's
  // cost as the capacity from its entry to its exit (Ford and Fulkerson 1956, by shortest paths).
  // Returns its cost.
  int64_t solve();
  // Of the solution: whether a node is in the cut, or on the targets' side of it.
  bool is_cut(int node) const { return !reaches_[entry(node)] && reaches_[exit(node)]; }
  bool is_behind(int node) const { return reaches_[entry(node)]; }

 private:
  struct Arc {
    size_t to;
    int64_t capacity;  // what is left
  };
  static size_t entry(int node) { return 2 + 2 * static_cast<size_t>(node); }
  static size_t exit(int node) { return entry(node) + 1; }
  void connect(size_t from, size_t to, int64_t capacity);
  int64_t augment();
  void find_reaching();

  // Vertices 0 and 1 are before all sources and behind all targets. Arc i ^ 1 is arc i backwards.
  std::vector<Arc> arcs_;
  std::vector<std::vector<size_t>> arcs_of_ = std::vector<std::vector<size_t>>(2);
  std::vector<bool> reaches_;  // a target, by vertex
};

}  // namespace spmd::codegen
