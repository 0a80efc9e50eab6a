#include "codegen/kernels/keep.h"

#include <algorithm>
#include <map>
#include <set>

#include "codegen/minimum_cut.h"
#include "runtime/plan/dtype.h"

namespace spmd::codegen::kernels {
namespace {

class KeptForLater {
 public:
  KeptForLater(const Kernel& kernel, const std::vector<std::vector<int>>& elements)
      : kernel_(kernel) {
    if (elements.empty()) return;
    first_.insert(elements[0].begin(), elements[0].end());
    for (size_t s = 1; s < elements.size(); ++s)
      for (int n : elements[s])
        if (node(n).kind != Node::Kind::kConstant) number_.try_emplace(n, 0);
  }

  std::vector<int> run() {
    for (auto& [n, number] : number_)
      number = cut_.add_node(first_.count(n) ? plan::byte_size(node(n).dtype) : NodeCut::kNever);
    for (const auto& [n, number] : number_) {
      if (is_read_first(n)) cut_.add_source(number);
      for (int arg : node(n).args)
        if (const auto from = number_.find(arg); from != number_.end())
          cut_.add_edge(from->second, number);
    }
    add_targets();
    std::vector<int> kept;
    if (cut_.solve() >= NodeCut::kNever) return kept;
    for (const auto& [n, number] : number_)
      if (cut_.is_cut(number)) kept.push_back(n);
    return kept;
  }

 private:
  const Node& node(int n) const { return kernel_.nodes[static_cast<size_t>(n)]; }

  // An element of the row that the first stage loads.
  bool is_read_first(int n) const {
    if (node(n).kind != Node::Kind::kLoad || !first_.count(n)) return false;
    const Dims& rows = kernel_.accesses[static_cast<size_t>(node(n).access)].strides.rows;
    return std::any_of(rows.begin(), rows.end(), [](int64_t stride) { return stride != 0; });
  }

  void add_targets() {
    const auto add = [&](int n) {
      if (const auto target = number_.find(n); target != number_.end())
        cut_.add_target(target->second);
    };
    for (const Store& store : kernel_.stores)
      if (store.stage > 0) add(store.node);
    for (const Reduction& reduction : kernel_.reductions)
      if (reduction.stage > 0)
        for (int n : reduction.elements) add(n);
  }

  const Kernel& kernel_;
  std::set<int> first_;
  std::map<int, int> number_;  // in the cut, of the nodes that later stages compute
  NodeCut cut_;
};

}  // namespace

std::vector<int> kept_for_later(const Kernel& kernel,
                                const std::vector<std::vector<int>>& elements) {
  return KeptForLater(kernel, elements).run();
}

}  // namespace spmd::codegen::kernels
