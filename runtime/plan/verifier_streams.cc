#include <set>

#include "runtime/plan/races.h"
#include "runtime/plan/verifier.h"

namespace spmd::plan {
namespace {

constexpr int32_t kMostStreams = 8;

}  // namespace

void Verifier::streams(const Sequence& body) {
  std::set<int32_t> recorded;
  for (const Step& step : body.steps()) {
    step_ = fmt::format("{} of {}", kind_name(step), step.op());
    expect(step.stream() >= 0 && step.stream() < kMostStreams, "a stream that does not exist");
    for (int32_t event : step.waits_for())
      expect(recorded.contains(event), "waits for an event that no step before it records");
    if (step.event() != 0)
      expect(recorded.insert(step.event()).second, "records an event that another step records");
  }
  step_.clear();
}

void Verifier::no_stream(const Step& step) const {
  expect(step.stream() == 0 && step.waits_for_size() == 0 && step.event() == 0,
         "a step within a loop or branch has a stream or an event of its own");
}

void Verifier::races() const {
  if (const auto race = find_race(plan_)) fail(*race);
}

}  // namespace spmd::plan
