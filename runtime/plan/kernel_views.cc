#include "runtime/plan/kernel_views.h"

namespace spmd::plan {
namespace {

using Views = google::protobuf::RepeatedPtrField<View>;

class Collector {
 public:
  explicit Collector(const Plan& plan) : plan_(plan) {}

  void visit(const Step& step) {
    if (step.has_elementwise()) {
      add(step.elementwise().inputs());
      add(step.elementwise().outputs());
    } else if (step.has_reduce()) {
      add(step.reduce().inputs());
      add(step.reduce().inits());
      add(step.reduce().outputs());
    } else if (step.has_attention()) {
      const Attention& a = step.attention();
      add({&a.query(), &a.key(), &a.value(), &a.output(), &a.statistics()});
    } else if (step.has_attention_backward()) {
      const AttentionBackward& a = step.attention_backward();
      add({&a.query(), &a.key(), &a.value(), &a.output(), &a.statistics(), &a.d_output(),
           &a.d_query(), &a.d_key(), &a.d_value()});
    } else if (step.has_fused()) {
      for (const Step& inner : step.fused().steps()) visit(inner);
    } else if (step.has_grouped()) {
      for (const Step& member : step.grouped().steps()) visit(member);
    }
  }
  std::vector<const View*> take() { return std::move(views_); }

 private:
  void add(const Views& views) {
    for (const View& view : views)
      if (plan_.buffers(view.buffer()).kind() != Buffer::LOCAL) views_.push_back(&view);
  }

  void add(std::initializer_list<const View*> views) {
    views_.insert(views_.end(), views.begin(), views.end());
  }

  const Plan& plan_;
  std::vector<const View*> views_;
};

}  // namespace

bool can_have_kernel(const Step& step) {
  return step.has_elementwise() || step.has_reduce() || step.has_fused() || step.has_grouped() ||
         step.has_attention() || step.has_attention_backward();
}

std::vector<const View*> kernel_views(const Plan& plan, const Step& step) {
  Collector collector(plan);
  collector.visit(step);
  return collector.take();
}

}  // namespace spmd::plan
