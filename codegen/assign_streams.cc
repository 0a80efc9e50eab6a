#include "codegen/assign_streams.h"

#include <map>
#include <vector>

#include "runtime/plan/races.h"

namespace spmd::codegen {
namespace {

class StreamAssigner {
 public:
  StreamAssigner(const plan::Plan& plan, plan::Sequence& body) : plan_(plan), body_(body) {}

  void run() {
    for (int s = 0; s < body_.steps_size(); ++s) {
      plan::Step& step = *body_.mutable_steps(s);
      if (step.has_collective()) step.set_stream(kCommunicationStream);
      const std::vector<plan::Access> accesses = plan::accesses_of(plan_, step);
      wait_for(step, accesses);
      for (const plan::Access& access : accesses) made_[step.stream()].push_back({access, s});
    }
  }

 private:
  struct Made {
    plan::Access access;
    int step;
  };

  // Of each other stream the last step that conflicts: the ones before it are done when it is.
  void wait_for(plan::Step& step, const std::vector<plan::Access>& accesses) {
    for (const auto& [stream, others] : made_) {
      if (stream == step.stream()) continue;
      int& known = known_[{step.stream(), stream}];  // 1 + the last step that was waited for
      const int last = last_conflict(others, accesses, known);
      if (last < 0) continue;
      known = last + 1;
      step.add_waits_for(event_of(last));
    }
  }

  // Among the steps from number `first` on; -1: none.
  static int last_conflict(const std::vector<Made>& others,
                           const std::vector<plan::Access>& accesses, int first) {
    for (size_t i = others.size(); i-- > 0 && others[i].step >= first;)
      for (const plan::Access& access : accesses)
        if (others[i].access.conflicts(access)) return others[i].step;
    return -1;
  }

  int32_t event_of(int step) {
    plan::Step& recorder = *body_.mutable_steps(step);
    if (recorder.event() == 0) recorder.set_event(++events_);
    return recorder.event();
  }

  const plan::Plan& plan_;
  plan::Sequence& body_;
  std::map<int32_t, std::vector<Made>> made_;  // by stream
  std::map<std::pair<int32_t, int32_t>, int> known_;
  int32_t events_ = 0;
};

}  // namespace

void assign_streams(plan::Plan& plan) {
  for (plan::Program& program : *plan.mutable_programs())
    StreamAssigner(plan, *program.mutable_body()).run();
}

}  // namespace spmd::codegen
