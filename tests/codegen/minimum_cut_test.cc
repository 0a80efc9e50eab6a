// Cuts of small graphs beside all sets of nodes that separate them.
#include "codegen/minimum_cut.h"

#include <random>

#include "gtest/gtest.h"

namespace spmd::testing {
namespace {

using codegen::NodeCut;

// Two values from one cheaper one: it is read instead.
TEST(NodeCut, GoesWhereItIsNarrow) {
  NodeCut cut;
  const int input = cut.add_node(3), a = cut.add_node(2), b = cut.add_node(2);
  cut.add_source(input);
  for (int node : {a, b}) cut.add_edge(input, node), cut.add_target(node);
  EXPECT_EQ(cut.solve(), 3);
  EXPECT_TRUE(cut.is_cut(input));
  EXPECT_FALSE(cut.is_behind(input));
  EXPECT_TRUE(cut.is_behind(a) && cut.is_behind(b));
  EXPECT_FALSE(cut.is_cut(a) || cut.is_cut(b));
}

// Of equal cuts the one with the least behind it.
TEST(NodeCut, StaysNearTheTargets) {
  NodeCut cut;
  const int input = cut.add_node(2), a = cut.add_node(2);
  cut.add_source(input), cut.add_edge(input, a), cut.add_target(a);
  EXPECT_EQ(cut.solve(), 2);
  EXPECT_TRUE(cut.is_cut(a));
  EXPECT_FALSE(cut.is_cut(input) || cut.is_behind(a));
}

struct Graph {
  std::vector<int64_t> costs;
  std::vector<std::pair<int, int>> edges;  // from lower to higher numbers
};

// Whether no path from node 0 to the last one avoids the nodes in `removed`.
bool separates(const Graph& graph, unsigned removed) {
  std::vector<bool> reached(graph.costs.size(), false);
  reached[0] = (removed & 1) == 0;
  for (size_t node = 1; node < graph.costs.size(); ++node)
    for (const auto& [from, to] : graph.edges)
      if (to == static_cast<int>(node) && reached[static_cast<size_t>(from)] &&
          (removed >> node & 1) == 0)
        reached[node] = true;
  return !reached.back();
}

TEST(NodeCut, CostsLeastOfAllSets) {
  std::mt19937 random(11);
  for (int round = 0; round < 200; ++round) {
    Graph graph;
    const int nodes = 3 + static_cast<int>(random() % 7);
    for (int n = 0; n < nodes; ++n) graph.costs.push_back(1 + static_cast<int64_t>(random() % 9));
    for (int from = 0; from < nodes; ++from)
      for (int to = from + 1; to < nodes; ++to)
        if (random() % 3 == 0) graph.edges.emplace_back(from, to);
    NodeCut cut;
    for (int64_t cost : graph.costs) cut.add_node(cost);
    for (const auto& [from, to] : graph.edges) cut.add_edge(from, to);
    cut.add_source(0), cut.add_target(nodes - 1);
    int64_t best = INT64_MAX;
    for (unsigned set = 0; set < 1U << nodes; ++set) {
      int64_t cost = 0;
      for (int n = 0; n < nodes; ++n) cost += (set >> n & 1) != 0 ? graph.costs[size_t(n)] : 0;
      if (cost < best && separates(graph, set)) best = cost;
    }
    EXPECT_EQ(cut.solve(), best) << "round " << round;
    unsigned chosen = 0;
    for (int n = 0; n < nodes; ++n) chosen |= cut.is_cut(n) ? 1U << n : 0;
    EXPECT_TRUE(separates(graph, chosen)) << "round " << round;
  }
}

}  // namespace
}  // namespace spmd::testing
