#include "runtime/plan/races.h"

#include <algorithm>
#include <iterator>

#include "runtime/plan/accesses.h"
#include "runtime/plan/plan.h"
#include "support/error.h"

namespace spmd::plan {
namespace {

Access access_of(const Plan& plan, int32_t number, bool writes) {
  const Buffer& buffer = plan.buffers(number);
  if (buffer.kind() != Buffer::ARENA) return {1 + number, 0, buffer.bytes(), writes};
  return {0, buffer.offset(), buffer.offset() + buffer.bytes(), writes};
}

// LOCAL buffers live within one step.
void collect(const Plan& plan, const Step& step, std::vector<Access>& accesses) {
  for_each_view(step, [&](const View& view, bool writes) {
    if (plan.buffers(view.buffer()).kind() != Buffer::LOCAL)
      accesses.push_back(access_of(plan, view.buffer(), writes));
  });
  const auto inner = [&](const Sequence& sequence) {
    for (const Step& each : sequence.steps()) collect(plan, each, accesses);
  };
  if (step.has_while_()) {
    inner(step.while_().condition());
    inner(step.while_().body());
  }
  for (const Sequence& branch : step.branch().branches()) inner(branch);
}

std::string text_of(const Step& step, int number) {
  return fmt::format("step {} ({}, {})", number, kind_name(step), step.op());
}

bool has_streams(const Sequence& body) {
  return std::any_of(body.steps().begin(), body.steps().end(),
                     [](const Step& step) { return step.stream() != 0; });
}

struct Visited {
  Access access;
  StreamOrder::Place place;
  int step;
};

std::string race_text(const Sequence& body, const Visited& earlier, const Visited& later) {
  return fmt::format(
      "{} on stream {} and {} on stream {} {} the same bytes of {}, and no event orders them",
      text_of(body.steps(earlier.step), earlier.step), earlier.place.stream,
      text_of(body.steps(later.step), later.step), later.place.stream,
      earlier.access.writes && later.access.writes ? "write" : "read and write",
      later.access.space == 0 ? "the arena" : fmt::format("buffer {}", later.access.space - 1));
}

// What a stream has accessed, in order.
using Visits = std::vector<Visited>;

// The first of them that the step `order` was last told of is not behind.
Visits::const_iterator first_open(const Visits& visits, const StreamOrder& order) {
  return std::partition_point(visits.begin(), visits.end(),
                              [&](const Visited& visited) { return order.is_done(visited.place); });
}

// A stream is in order by itself, so that accesses are compared with those of the others only, and
// with those that are not done.
std::optional<std::string> find_race(const Plan& plan, const Sequence& body) {
  if (!has_streams(body)) return std::nullopt;
  StreamOrder order;
  std::map<int32_t, Visits> visits;
  for (int s = 0; s < body.steps_size(); ++s) {
    const Step& step = body.steps(s);
    const StreamOrder::Place place = order.next(step);
    const std::vector<Access> accesses = accesses_of(plan, step);
    for (const auto& [stream, others] : visits) {
      if (stream == place.stream) continue;
      for (auto other = first_open(others, order); other != others.end(); ++other)
        for (const Access& access : accesses)
          if (other->access.conflicts(access)) return race_text(body, *other, {access, place, s});
    }
    for (const Access& access : accesses) visits[place.stream].push_back({access, place, s});
  }
  return std::nullopt;
}

}  // namespace

std::vector<Access> accesses_of(const Plan& plan, const Step& step) {
  std::vector<Access> accesses;
  collect(plan, step, accesses);
  return accesses;
}

void StreamOrder::join(Clock& clock, const Clock& other) {
  for (const auto& [stream, number] : other) clock[stream] = std::max(clock[stream], number);
}

StreamOrder::Place StreamOrder::next(const Step& step) {
  Clock& clock = clocks_[step.stream()];
  for (int32_t event : step.waits_for()) {
    SPMD_CHECK(events_.contains(event), "nobody records event {}", event);
    join(clock, events_.at(event));
  }
  done_ = clock;
  const Place place{step.stream(), ++clock[step.stream()]};
  if (step.event() != 0) events_[step.event()] = clock;
  return place;
}

bool StreamOrder::is_done(const Place& place) const {
  const auto number = done_.find(place.stream);
  return number != done_.end() && number->second >= place.number;
}

std::optional<std::string> find_race(const Plan& plan, const Grouped& grouped) {
  struct Place {
    Access access;
    int member;
  };
  std::vector<Place> places;
  for (int m = 0; m < grouped.steps_size(); ++m)
    for (const Access& access : accesses_of(plan, grouped.steps(m))) places.push_back({access, m});
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return a.access.space != b.access.space ? a.access.space < b.access.space
                                            : a.access.begin < b.access.begin;
  });
  for (auto a = places.begin(); a != places.end(); ++a)
    for (auto b = std::next(a);
         b != places.end() && b->access.space == a->access.space && b->access.begin < a->access.end;
         ++b)
      if (a->member != b->member && a->access.conflicts(b->access))
        return fmt::format("members {} and {} of a group {} the same bytes",
                           std::min(a->member, b->member), std::max(a->member, b->member),
                           a->access.writes && b->access.writes ? "write" : "read and write");
  return std::nullopt;
}

std::optional<std::string> find_race(const Plan& plan) {
  for (const Program& program : plan.programs())
    if (auto race = find_race(plan, program.body())) return race;
  return std::nullopt;
}

}  // namespace spmd::plan
