#include "codegen/drop_outputs.h"

#include "codegen/accesses.h"
#include "codegen/slice_program.h"
#include "codegen/step_tree.h"

namespace spmd::codegen {
namespace {

class OutputDropper {
 public:
  OutputDropper(plan::Sequence& body, const StorageTable& storages)
      : body_(body), storages_(storages), reads_(static_cast<size_t>(storages.size()), 0) {
    const StepTree tree(body);
    for (int s = 0; s < tree.num_steps(); ++s) count(*tree[s].step, 1);
  }

  void run() {
    for (int s = body_.steps_size(); s-- > 0;) {
      plan::Step& step = *body_.mutable_steps(s);
      if (step.has_elementwise()) {
        visit(step);
      } else if (step.has_fused()) {
        auto& parts = *step.mutable_fused()->mutable_steps();
        for (int p = parts.size(); p-- > 0;)
          if (parts[p].has_elementwise()) visit(parts[p]);
        drop_empty_parts(*step.mutable_fused());
        if (parts.empty()) step.Clear();
        if (parts.size() == 1) {
          plan::Step only = std::move(parts[0]);
          step.Swap(&only);
        }
      }
    }
    drop_empty_steps(body_);
  }

 private:
  static void drop_empty_parts(plan::Fused& fused) {
    plan::Sequence sequence;
    sequence.mutable_steps()->Swap(fused.mutable_steps());
    drop_empty_steps(sequence);
    sequence.mutable_steps()->Swap(fused.mutable_steps());
  }

  void count(plan::Step& step, int by) {
    for_each_view(step, [&](plan::View& view, bool writes) {
      if (!writes) reads_[static_cast<size_t>(view.buffer())] += by;
    });
  }

  void visit(plan::Step& step) {
    const plan::Elementwise& whole = step.elementwise();
    std::vector<std::pair<int, plan::View>> kept;
    for (int o = 0; o < whole.outputs_size(); ++o) {
      const int storage = whole.outputs(o).buffer();
      if (storages_[storage].kind != plan::Buffer::ARENA ||
          reads_[static_cast<size_t>(storage)] > 0)
        kept.emplace_back(whole.program().outputs(o), whole.outputs(o));
    }
    if (static_cast<int>(kept.size()) == whole.outputs_size()) return;
    count(step, -1);
    if (kept.empty()) {
      step.Clear();
      return;
    }
    *step.mutable_elementwise() = slice_program(plan::Elementwise(whole), kept);
    count(step, 1);
  }

  plan::Sequence& body_;
  const StorageTable& storages_;
  std::vector<int> reads_;  // views, by storage
};

}  // namespace

void drop_unread_outputs(plan::Sequence& body, const StorageTable& storages) {
  OutputDropper(body, storages).run();
}

}  // namespace spmd::codegen
