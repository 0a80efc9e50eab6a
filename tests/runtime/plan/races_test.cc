#include "runtime/plan/races.h"

#include <gtest/gtest.h>

#include "runtime/plan/plan.h"

namespace spmd::plan {
namespace {

// Steps that copy between buffers of the arena, each of 64 bytes at the offset given.
class StepList {
 public:
  StepList() {
    plan_.set_arena_bytes(1 << 10);
    plan_.add_programs();
  }

  int buffer(int64_t offset, Buffer::Kind kind = Buffer::ARENA) {
    Buffer& buffer = *plan_.add_buffers();
    buffer.set_kind(kind);
    buffer.set_bytes(64);
    buffer.set_offset(offset);
    return plan_.buffers_size() - 1;
  }
  Step& copy(int from, int to, int stream, const std::string& op) {
    return copy(*plan_.mutable_programs(0)->mutable_body(), from, to, stream, op);
  }
  Step& copy(Sequence& sequence, int from, int to, int stream, const std::string& op) {
    Step& step = *sequence.add_steps();
    step.set_op(op);
    step.set_stream(stream);
    step.mutable_elementwise()->add_shape(16);
    view(*step.mutable_elementwise()->add_inputs(), from);
    view(*step.mutable_elementwise()->add_outputs(), to);
    return step;
  }
  Step& loop(const std::string& op) {
    Step& step = *plan_.mutable_programs(0)->mutable_body()->add_steps();
    step.set_op(op);
    view(*step.mutable_while_()->mutable_predicate(), 0);
    return step;
  }

  std::string race() const { return find_race(plan_).value_or("none"); }

 private:
  static void view(View& view, int buffer) {
    view.set_buffer(buffer);
    view.set_dtype(F32);
    view.add_strides(1);
  }

  Plan plan_;
};

TEST(Races, OneStreamIsInOrder) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64);
  program.copy(a, b, 0, "first");
  program.copy(b, a, 0, "second");
  EXPECT_EQ(program.race(), "none");
}

TEST(Races, ReadAfterWriteNeedsAnEvent) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128);
  Step& first = program.copy(a, b, 0, "first");
  Step& second = program.copy(b, c, 1, "second");
  EXPECT_EQ(program.race(),
            "step 0 (elementwise, first) on stream 0 and step 1 (elementwise, second) on stream 1 "
            "read and write the same bytes of the arena, and no event orders them");
  first.set_event(1);
  EXPECT_NE(program.race(), "none") << "nobody waits";
  second.add_waits_for(1);
  EXPECT_EQ(program.race(), "none");
}

TEST(Races, BytesCountAndNotNumbers) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), overlaps_b = program.buffer(127),
            behind_b = program.buffer(191), own = program.buffer(64, Buffer::RESULT);
  program.copy(a, b, 0, "first");
  program.copy(behind_b, own, 1, "apart");
  EXPECT_EQ(program.race(), "none") << "a result has its own memory, wherever its offset lies";
  program.copy(a, overlaps_b, 1, "last");
  EXPECT_EQ(program.race(),
            "step 0 (elementwise, first) on stream 0 and step 2 (elementwise, last) on stream 1 "
            "write the same bytes of the arena, and no event orders them");
}

TEST(Races, WritesAfterReadsAreRacesToo) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128, Buffer::RESULT);
  program.copy(a, b, 0, "reads");
  program.copy(c, a, 1, "writes");
  EXPECT_EQ(program.race(),
            "step 0 (elementwise, reads) on stream 0 and step 1 (elementwise, writes) on stream 1 "
            "read and write the same bytes of the arena, and no event orders them");
}

TEST(Races, ReadsOfOnePlaceAreNone) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128);
  program.copy(a, b, 0, "first");
  program.copy(a, c, 1, "second");
  EXPECT_EQ(program.race(), "none");
}

// An event stands for all that its stream has done before, and for what that waited for.
TEST(Races, OrderIsTransitive) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128),
            d = program.buffer(192);
  program.copy(a, b, 0, "writes b");
  program.copy(c, d, 0, "something else").set_event(1);
  Step& middle = program.copy(c, d, 1, "middle");
  middle.add_waits_for(1);
  middle.set_event(2);
  Step& last = program.copy(b, a, 2, "reads b");
  EXPECT_NE(program.race(), "none");
  last.add_waits_for(2);
  EXPECT_EQ(program.race(), "none");
}

// A step that was queued after the event is not covered by it.
TEST(Races, EventsCoverWhatIsBeforeThem) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128);
  program.copy(a, c, 0, "before").set_event(1);
  program.copy(a, b, 0, "after");
  program.copy(b, c, 1, "reads both").add_waits_for(1);
  EXPECT_EQ(program.race(),
            "step 1 (elementwise, after) on stream 0 and step 2 (elementwise, reads both) on "
            "stream 1 read and write the same bytes of the arena, and no event orders them");
}

TEST(Races, StepsOfLoopsCountForTheLoop) {
  StepList program;
  const int a = program.buffer(0), b = program.buffer(64), c = program.buffer(128);
  Step& first = program.copy(a, b, 1, "first");
  Step& loop = program.loop("loop");
  program.copy(*loop.mutable_while_()->mutable_body(), b, c, 0, "inside");
  EXPECT_EQ(program.race(),
            "step 0 (elementwise, first) on stream 1 and step 1 (while, loop) on stream 0 read and "
            "write the same bytes of the arena, and no event orders them");
  first.set_event(7);
  loop.add_waits_for(7);
  EXPECT_EQ(program.race(), "none");
}

}  // namespace
}  // namespace spmd::plan
