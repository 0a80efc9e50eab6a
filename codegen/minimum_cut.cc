#include "codegen/minimum_cut.h"

#include <algorithm>
#include <deque>

namespace spmd::codegen {
namespace {

constexpr size_t kStart = 0, kEnd = 1, kNone = SIZE_MAX;

}  // namespace

int NodeCut::add_node(int64_t cost) {
  const int node = static_cast<int>(arcs_of_.size() / 2) - 1;
  arcs_of_.resize(arcs_of_.size() + 2);
  connect(entry(node), exit(node), cost);
  return node;
}

void NodeCut::add_edge(int from, int to) { connect(exit(from), entry(to), kNever); }
void NodeCut::add_source(int node) { connect(kStart, entry(node), kNever); }
void NodeCut::add_target(int node) { connect(exit(node), kEnd, kNever); }

void NodeCut::connect(size_t from, size_t to, int64_t capacity) {
  arcs_of_[from].push_back(arcs_.size());
  arcs_.push_back({to, capacity});
  arcs_of_[to].push_back(arcs_.size());
  arcs_.push_back({from, 0});
}

int64_t NodeCut::solve() {
  int64_t cost = 0;
  // A path without limits means that there is no cut.
  for (int64_t more = augment(); more > 0 && cost < kNever; more = augment()) cost += more;
  find_reaching();
  return cost;
}

// Sends as much as it can take along a shortest path; returns how much, 0 when there is none.
int64_t NodeCut::augment() {
  std::vector<size_t> arrived_by(arcs_of_.size(), kNone);
  std::deque<size_t> queue = {kStart};
  while (!queue.empty() && arrived_by[kEnd] == kNone) {
    const size_t vertex = queue.front();
    queue.pop_front();
    for (size_t arc : arcs_of_[vertex]) {
      const size_t to = arcs_[arc].to;
      if (arcs_[arc].capacity == 0 || to == kStart || arrived_by[to] != kNone) continue;
      arrived_by[to] = arc;
      queue.push_back(to);
    }
  }
  if (arrived_by[kEnd] == kNone) return 0;
  int64_t least = kNever;
  for (size_t v = kEnd; v != kStart; v = arcs_[arrived_by[v] ^ 1].to)
    least = std::min(least, arcs_[arrived_by[v]].capacity);
  for (size_t v = kEnd; v != kStart; v = arcs_[arrived_by[v] ^ 1].to) {
    arcs_[arrived_by[v]].capacity -= least;
    arcs_[arrived_by[v] ^ 1].capacity += least;
  }
  return least;
}

void NodeCut::find_reaching() {
  reaches_.assign(arcs_of_.size(), false);
  reaches_[kEnd] = true;
  std::deque<size_t> queue = {kEnd};
  while (!queue.empty()) {
    const size_t vertex = queue.front();
    queue.pop_front();
    for (size_t arc : arcs_of_[vertex]) {
      const size_t from = arcs_[arc].to;
      if (reaches_[from] || arcs_[arc ^ 1].capacity == 0) continue;
      reaches_[from] = true;
      queue.push_back(from);
    }
  }
}

}  // namespace spmd::codegen
