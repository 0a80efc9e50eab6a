// Group: a fused elementwise kernel under construction.
#pragma once

#include <utility>
#include <vector>

#include "codegen/scalar.h"

namespace spmd::codegen {

// A group runs over a row-major index space of `elements` elements. Its values may have different
// shapes of that many elements, as long as `shape` (no dimensions of size 1) can be had from each
// of them by splitting dimensions; so reshapes between members cost nothing.
class Group {
 public:
  Group(BlockId block, const Dims& shape);

  BlockId block() const { return block_; }
  int64_t elements() const { return elements_; }

  // Whether values of `shape` can live here, or the members of another group.
  bool accepts(const Dims& shape) const;
  bool accepts(const Group& other) const;
  // Whether the kernel stays of reasonable size with so many nodes and leaves more.
  bool has_room(size_t nodes, size_t leaves, size_t exports) const;
  bool has_room(const Group& other) const {
    return has_room(other.expr_.nodes.size(), other.expr_.leaves.size(), other.exports);
  }
  size_t num_nodes() const { return expr_.nodes.size(); }

  // Each returns the node of the value; the shapes involved must be accepted.
  int add(const Expr& expr, const Dims& shape);
  int add(Node node, const Dims& shape);
  // The node that already stands for a value, or -1.
  int find(ValueId value) const;
  void remember(ValueId value, int node) { loaded_.emplace_back(value, node); }

  // Values whose own state refers to this group.
  struct Member {
    ValueId value;
    int node;
  };
  std::vector<Member> members;
  // Members known to be needed outside.
  size_t exports = 0;

  // The kernel writes a node to a view.
  void store(int node, const View& view);
  // `view` is dense; its shape need not be accepted.
  void store_dense(int node, const View& view);
  // Where a node is stored already, or null.
  const View* stored(int node) const;
  bool has_stores() const { return !stores_.empty(); }

  // Takes in all of `other`, whose nodes n become n + the returned offset.
  int absorb(Group& other);

  plan::Elementwise build() const;

  // The op that joined last; the kernel stands at its place.
  OpId last = OpId::kNone;
  int64_t key = 0;

 private:
  int add_leaf(const View& view);
  void refine(const Dims& shape);

  BlockId block_;
  int64_t elements_;
  Dims shape_;
  Expr expr_;
  std::vector<std::pair<int, View>> stores_;
  std::vector<std::pair<ValueId, int>> loaded_;
};

// A kernel that copies `from` to `to`, which have the same shape.
plan::Elementwise copy_kernel(const View& from, const View& to);

}  // namespace spmd::codegen
