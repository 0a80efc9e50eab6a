#include "runtime/plan/traffic.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/plan/accesses.h"
#include "runtime/plan/dtype.h"

namespace spmd::plan {
namespace {

class Traffic {
 public:
  explicit Traffic(const Plan& plan) : plan_(plan) {}

  void visit(const Step& step) {
    if (step.has_fused()) {
      for (const Step& inner : step.fused().steps()) visit(inner);
      return;
    }
    if (step.has_grouped()) {
      for (const Step& member : step.grouped().steps()) visit(member);
      return;
    }
    const int64_t limit = moved_elements(step);
    for_each_view(step, [&](const View& view, bool writes) {
      if (plan_.buffers(view.buffer()).kind() == Buffer::LOCAL) return;
      if (!writes && places_.contains({view.buffer(), view.offset(), true})) return;  // its own
      const int64_t count = std::min(distinct_elements(step, view), limit);
      int64_t& known = places_[{view.buffer(), view.offset(), writes}];
      known = std::max(known, count * byte_size(view.dtype()));
    });
  }

  int64_t total() const {
    int64_t bytes = 0;
    for (const auto& [place, moved] : places_) bytes += moved;
    return bytes;
  }

 private:
  // The most elements that an indexed step moves of any operand.
  static int64_t moved_elements(const Step& step) {
    switch (step.kind_case()) {
      case Step::kGather:
        return distinct_elements(step, step.gather().out());
      case Step::kScatter:
        return distinct_elements(step, step.scatter().updates(0));
      case Step::kDynamicSlice:
        return distinct_elements(step, step.dynamic_slice().out());
      case Step::kDynamicUpdateSlice:
        return distinct_elements(step, step.dynamic_update_slice().update());
      default:
        return INT64_MAX;
    }
  }

  const Plan& plan_;
  std::map<std::tuple<int, int64_t, bool>, int64_t> places_;  // bytes
};

}  // namespace

int64_t bytes_moved(const Plan& plan, const Step& step) {
  Traffic traffic(plan);
  traffic.visit(step);
  return traffic.total();
}

}  // namespace spmd::plan
