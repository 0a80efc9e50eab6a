// What streams and events of a Plan order, and what they leave to chance.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// Bytes that a step reads or writes, those of the steps within it included.
struct Access {
  int64_t space = 0;  // 0: the arena; else 1 + the number of the buffer, which has its own memory
  int64_t begin = 0, end = 0;
  bool writes = false;

  bool conflicts(const Access& other) const {
    return space == other.space && begin < other.end && other.begin < end &&
           (writes || other.writes);
  }
};
std::vector<Access> accesses_of(const Plan& plan, const Step& step);

// Which steps of a program are done when another begins, by vector clocks (Mattern 1989): to be
// told of the outermost steps in the Plan's order.
class StreamOrder {
 public:
  // A step's place: its stream, and its number there, from 1.
  struct Place {
    int32_t stream = 0;
    int64_t number = 0;
  };

  // The next step, whose events have been recorded.
  Place next(const Step& step);
  // Whether the step at `place` is done when the one that next() was last told of begins.
  bool is_done(const Place& place) const;

 private:
  using Clock = std::map<int32_t, int64_t>;  // by stream: steps that are done
  static void join(Clock& clock, const Clock& other);

  std::map<int32_t, Clock> clocks_;
  std::map<int32_t, Clock> events_;
  Clock done_;
};

// Two steps of a program that access the same bytes, one of them to write, with no order between
// them: "step 3 (all_reduce, model.py:4) and step 7 (...) ...". nullopt when there are none. Steps
// wait for events that steps before them record.
std::optional<std::string> find_race(const Plan& plan);

// The same of the members of one Grouped step, which nothing orders: "members 0 and 3 ...".
std::optional<std::string> find_race(const Plan& plan, const Grouped& grouped);

}  // namespace spmd::plan
