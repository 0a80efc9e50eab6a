// StepTree: the steps of a program in order, with what they access.
#pragma once

#include <vector>

#include "codegen/accesses.h"
#include "codegen/buffers.h"

namespace spmd::codegen {

// Steps are numbered in order, a step before those inside of it. A block is one sequence.
class StepTree {
 public:
  struct Entry {
    plan::Step* step;
    int block;
    int last;  // the last step inside, or the step itself
  };
  struct Block {
    plan::Sequence* sequence;
    int parent;  // the step it is in, or -1
    int depth;
  };

  explicit StepTree(plan::Sequence& body) { add(body, -1, 0); }

  int num_steps() const { return static_cast<int>(steps_.size()); }
  const Entry& operator[](int step) const { return steps_[static_cast<size_t>(step)]; }
  const std::vector<Block>& blocks() const { return blocks_; }
  const Block& block(int id) const { return blocks_[static_cast<size_t>(id)]; }

  // The step of `block` itself that `step` is or is inside of, or -1.
  int ancestor_in(int step, int block) const;
  // The innermost block that both are in.
  int common_block(int a, int b) const;

 private:
  void add(plan::Sequence& sequence, int parent, int depth);

  std::vector<Entry> steps_;
  std::vector<Block> blocks_;
};

// Removes the steps that have been cleared.
void drop_empty_steps(plan::Sequence& sequence);

}  // namespace spmd::codegen
