#include "codegen/accesses.h"

namespace spmd::codegen {
plan::View* strided_output(plan::Step& step, const std::function<bool(int)>& is_buffer,
                           std::vector<int64_t>* shape) {
  plan::View* output = nullptr;
  int accesses = 0;
  for_each_view(step, [&](plan::View& view, bool writes) {
    if (!is_buffer(view.buffer())) return;
    ++accesses;
    if (writes) output = &view;
  });
  if (output == nullptr || accesses != 1) return nullptr;
  switch (step.kind_case()) {
    case plan::Step::kElementwise:
    case plan::Step::kReduce:
    case plan::Step::kDot:
    case plan::Step::kConvolution:
    case plan::Step::kGather:
    case plan::Step::kDynamicSlice:
    case plan::Step::kAttentionBackward:
      *shape = plan::view_shape(step, *output);
      return output;
    case plan::Step::kAttention:
      if (output == step.mutable_attention()->mutable_statistics()) return nullptr;
      *shape = plan::view_shape(step, *output);
      return output;
    default:
      return nullptr;
  }
}

std::vector<plan::Sequence*> sequences_of(plan::Step& step) {
  std::vector<plan::Sequence*> result;
  if (step.has_while_()) {
    result = {step.mutable_while_()->mutable_condition(), step.mutable_while_()->mutable_body()};
  } else if (step.has_branch()) {
    for (plan::Sequence& branch : *step.mutable_branch()->mutable_branches())
      result.push_back(&branch);
  }
  return result;
}

namespace {

void add_uses(plan::Step& step, StepUses& uses) {
  for_each_view(step, [&](plan::View& view, bool writes) {
    StepUse& use = uses[view.buffer()];
    (writes ? use.writes : use.reads) = true;
  });
  for (plan::Sequence* inner : sequences_of(step))
    for (plan::Step& part : *inner->mutable_steps()) add_uses(part, uses);
}

}  // namespace

StepUses uses_of(plan::Step& step) {
  StepUses uses;
  add_uses(step, uses);
  return uses;
}

}  // namespace spmd::codegen
