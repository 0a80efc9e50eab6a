#include "codegen/step_tree.h"

namespace spmd::codegen {

void StepTree::add(plan::Sequence& sequence, int parent, int depth) {
  const int block = static_cast<int>(blocks_.size());
  blocks_.push_back({&sequence, parent, depth});
  for (plan::Step& step : *sequence.mutable_steps()) {
    const int id = num_steps();
    steps_.push_back({&step, block, id});
    for (plan::Sequence* inner : sequences_of(step)) add(*inner, id, depth + 1);
    steps_[static_cast<size_t>(id)].last = num_steps() - 1;
  }
}

int StepTree::ancestor_in(int step, int block) const {
  while (step >= 0 && (*this)[step].block != block) step = this->block((*this)[step].block).parent;
  return step;
}

int StepTree::common_block(int a, int b) const {
  while (a != b) {
    int& deeper = block(a).depth >= block(b).depth ? a : b;
    deeper = (*this)[block(deeper).parent].block;
  }
  return a;
}

void drop_empty_steps(plan::Sequence& sequence) {
  auto& steps = *sequence.mutable_steps();
  int kept = 0;
  for (int i = 0; i < steps.size(); ++i)
    if (steps[i].kind_case() != plan::Step::KIND_NOT_SET) steps.SwapElements(kept++, i);
  steps.DeleteSubrange(kept, steps.size() - kept);
}

}  // namespace spmd::codegen
