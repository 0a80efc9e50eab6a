#include "runtime/plan/traffic.h"

#include "gtest/gtest.h"

namespace spmd::testing {
namespace {

void set_view(plan::View& view, int buffer, std::initializer_list<int64_t> strides,
              plan::DType dtype = plan::F32) {
  view.set_buffer(buffer);
  view.set_dtype(dtype);
  for (int64_t stride : strides) view.add_strides(stride);
}

plan::Plan buffers(int count) {
  plan::Plan plan;
  for (int i = 0; i < count; ++i) plan.add_buffers()->set_kind(plan::Buffer::ARENA);
  return plan;
}

TEST(Traffic, BroadcastsAreReadOnce) {
  const plan::Plan plan = buffers(3);
  plan::Step step;
  plan::Elementwise& map = *step.mutable_elementwise();
  map.add_shape(6), map.add_shape(10);
  set_view(*map.add_inputs(), 0, {10, 1});
  set_view(*map.add_inputs(), 0, {10, 1});  // again
  set_view(*map.add_inputs(), 1, {0, 1}, plan::BF16);
  set_view(*map.add_outputs(), 2, {10, 1});
  EXPECT_EQ(plan::bytes_moved(plan, step), 240 + 20 + 240);
}

TEST(Traffic, LocalBuffersAreNotMoved) {
  plan::Plan plan = buffers(3);
  plan.mutable_buffers(1)->set_kind(plan::Buffer::LOCAL);
  plan::Step step;
  plan::Elementwise& first = *step.mutable_fused()->add_steps()->mutable_elementwise();
  first.add_shape(8);
  set_view(*first.add_inputs(), 0, {1});
  set_view(*first.add_outputs(), 1, {1});
  plan::Reduce& second = *step.mutable_fused()->add_steps()->mutable_reduce();
  second.add_shape(8), second.add_dims(0);
  set_view(*second.add_inputs(), 1, {1});
  set_view(*second.add_outputs(), 2, {});
  EXPECT_EQ(plan::bytes_moved(plan, step), 8 * 4 + 4);
}

TEST(Traffic, OfGroupsThatOfTheirMembers) {
  const plan::Plan plan = buffers(4);
  plan::Step step;
  for (int m = 0; m < 2; ++m) {
    plan::Elementwise& map = *step.mutable_grouped()->add_steps()->mutable_elementwise();
    map.add_shape(8);
    set_view(*map.add_inputs(), 2 * m, {1});
    set_view(*map.add_outputs(), 2 * m + 1, {1});
  }
  EXPECT_EQ(plan::bytes_moved(plan, step), 2 * (8 * 4 + 8 * 4));
}

// Of a table only the rows that are taken.
TEST(Traffic, GathersMoveWhatTheyTake) {
  const plan::Plan plan = buffers(3);
  plan::Step step;
  plan::Gather& gather = *step.mutable_gather();
  set_view(*gather.mutable_operand(), 0, {4, 1});
  gather.mutable_operand()->add_shape(1000), gather.mutable_operand()->add_shape(4);
  set_view(*gather.mutable_indices(), 1, {1}, plan::S32);
  gather.mutable_indices()->add_shape(5);
  set_view(*gather.mutable_out(), 2, {4, 1});
  gather.mutable_out()->add_shape(5), gather.mutable_out()->add_shape(4);
  EXPECT_EQ(plan::bytes_moved(plan, step), 2 * 5 * 4 * 4 + 5 * 4);
}

}  // namespace
}  // namespace spmd::testing
