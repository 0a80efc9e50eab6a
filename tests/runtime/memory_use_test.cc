#include "runtime/memory_use.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

TEST(MemoryUse, OptimizersAreKnownByTheirWords) {
  EXPECT_TRUE(is_optimizer_state("state['opt'][0].mu['layer0']['w']"));
  EXPECT_TRUE(is_optimizer_state("state['opt'][0].count"));
  EXPECT_FALSE(is_optimizer_state("state['params']['layer0']['w']"));
  EXPECT_FALSE(is_optimizer_state("state['params']['multiply']['w']"));
}

class PlanBuilder {
 public:
  int buffer(plan::Buffer::Kind kind, int64_t bytes, int64_t offset = 0) {
    plan::Buffer& buffer = *plan.add_buffers();
    buffer.set_kind(kind);
    buffer.set_bytes(bytes);
    buffer.set_offset(offset);
    return plan.buffers_size() - 1;
  }
  int arena(int64_t bytes, int64_t offset) { return buffer(plan::Buffer::ARENA, bytes, offset); }
  void step(const std::string& op, std::vector<int> reads, int writes) {
    plan::Step& step = *body().add_steps();
    step.set_op(op);
    for (int b : reads) step.mutable_elementwise()->add_inputs()->set_buffer(b);
    step.mutable_elementwise()->add_outputs()->set_buffer(writes);
  }
  void all_reduce(const std::string& op, int in, int out) {
    plan::Step& step = *body().add_steps();
    step.set_op(op);
    plan::Collective::Part& part = *step.mutable_collective()->add_parts();
    part.mutable_in()->set_buffer(in);
    part.mutable_out()->set_buffer(out);
  }
  plan::Sequence& body() {
    if (plan.programs_size() == 0) plan.add_programs();
    return *plan.mutable_programs(0)->mutable_body();
  }

  plan::Plan plan;
};

// Forward, backward and update of one layer, by hand: the peak is at "backward", where the value
// that the forward pass kept (100), what it reads (30), the gradient that it makes (20) and the
// message (7) are alive, and 3 bytes lie between them.
TEST(MemoryUse, OfATrainingStep) {
  PlanBuilder b;
  const int w = b.buffer(plan::Buffer::ARGUMENT, 1000), m = b.buffer(plan::Buffer::ARGUMENT, 2000),
            x = b.buffer(plan::Buffer::ARGUMENT, 50), new_w = b.buffer(plan::Buffer::RESULT, 1000),
            one = b.buffer(plan::Buffer::CONSTANT, 4);
  const int kept = b.arena(100, 0), error = b.arena(30, 100), gradient = b.arena(20, 133),
            message = b.arena(7, 153);
  b.plan.set_arena_bytes(160);
  const auto argument = [&](const char* name, int buffer, int result) {
    plan::Argument& entry = *b.plan.add_arguments();
    entry.set_name(name);
    entry.set_buffer(buffer);
    entry.set_aliased_result(result);
  };
  argument("params.w", w, 0);
  argument("opt.momentum", m, 1);
  argument("x", x, -1);
  b.plan.add_results()->set_buffer(new_w);
  b.plan.add_results()->set_buffer(m);
  b.step("forward", {w, x}, kept);
  b.step("loss", {kept, one}, error);
  b.all_reduce("norm", error, message);
  b.step("backward", {error, message}, gradient);
  b.step("derivative", {kept, message, gradient}, gradient);
  b.step("update", {w, gradient, m}, new_w);
  const MemoryUse use = memory_use(b.plan);
  EXPECT_EQ(use.parameters, 1000);
  EXPECT_EQ(use.optimizer_state, 2000);
  EXPECT_EQ(use.inputs, 50);
  EXPECT_EQ(use.results, 1000);
  EXPECT_EQ(use.constants, 4);
  EXPECT_EQ(use.peak_op, "backward");
  EXPECT_EQ(use.activations, 100);
  EXPECT_EQ(use.gradients, 20);
  EXPECT_EQ(use.temporaries, 0) << "what it reads is a message's too";
  EXPECT_EQ(use.messages, 37);
  EXPECT_EQ(use.gaps, 3);
  EXPECT_EQ(use.total(), 1000 + 2000 + 50 + 1000 + 4 + 160);
  const std::string text = to_string(use);
  EXPECT_NE(text.find("  activations             100 B\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  workspaces       not known yet\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  the most values are alive at backward\n"), std::string::npos) << text;
}

// What shares bytes within a loop counts once: the kinds of the arena add up to the arena.
TEST(MemoryUse, BytesThatAreSharedCountOnce) {
  PlanBuilder b;
  const int first = b.arena(64, 0), second = b.arena(64, 32);
  b.plan.set_arena_bytes(128);
  plan::Step& loop = *b.body().add_steps();
  loop.set_op("loop");
  loop.mutable_while_()->mutable_predicate()->set_buffer(first);
  for (int buffer : {first, second}) {
    plan::Step& step = *loop.mutable_while_()->mutable_body()->add_steps();
    step.mutable_elementwise()->add_outputs()->set_buffer(buffer);
  }
  const MemoryUse use = memory_use(b.plan);
  EXPECT_EQ(use.temporaries, 96);
  EXPECT_EQ(use.gaps, 32);
  EXPECT_EQ(use.total(), 128);
}

}  // namespace
}  // namespace spmd
