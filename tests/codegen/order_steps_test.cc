// The order of steps, for memory.
#include "codegen/order_steps.h"

#include <google/protobuf/text_format.h>
#include <gtest/gtest.h>

#include "codegen/buffers.h"

namespace spmd::testing {
namespace {

using codegen::AliasedPair;
using codegen::StorageTable;

constexpr int64_t kLarge = 1 << 20, kSmall = 64;

class OrderSteps : public ::testing::Test {
 protected:
  int storage(int64_t bytes, plan::Buffer::Kind kind = plan::Buffer::ARENA) {
    return storages_.add(kind, bytes);
  }

  // A step called `name` that reads and writes storages.
  void step(const std::string& name, const std::vector<int>& reads,
            const std::vector<int>& writes) {
    fill(*body_.add_steps(), name, reads, writes);
  }
  static void fill(plan::Step& step, const std::string& name, const std::vector<int>& reads,
                   const std::vector<int>& writes) {
    step.set_op(name);
    step.mutable_elementwise()->mutable_program()->add_instructions();  // no copy
    for (int storage : reads) step.mutable_elementwise()->add_inputs()->set_buffer(storage);
    for (int storage : writes) step.mutable_elementwise()->add_outputs()->set_buffer(storage);
  }

  std::string names(const plan::Sequence& sequence) const {
    std::string text;
    for (const plan::Step& step : sequence.steps()) text += step.op() + " ";
    return text;
  }
  std::string ordered(const std::vector<AliasedPair>& aliased = {}) {
    codegen::order_steps(body_, storages_, aliased);
    return names(body_);
  }

  std::string order_of_an_update(bool in_place);

  StorageTable storages_;
  plan::Sequence body_;
};

// Gradients of two layers' activations; the sums over them, which a program has at its end, follow
// each at once, so that one is kept at a time.
TEST_F(OrderSteps, ReductionsFollowWhatTheyReduce) {
  const int g0 = storage(kLarge), g1 = storage(kLarge), b0 = storage(kSmall), b1 = storage(kSmall);
  step("gradient0", {}, {g0});
  step("gradient1", {g0}, {g1});
  step("sum0", {g0}, {b0});
  step("sum1", {g1}, {b1});
  step("update", {b0, b1}, {storage(kSmall, plan::Buffer::RESULT)});
  EXPECT_EQ(ordered(), "gradient0 sum0 gradient1 sum1 update ");
}

// A product as large as one of its factors, which nobody needs afterwards, comes as soon as it can;
// one that ends nothing stays where it is.
TEST_F(OrderSteps, WhatGivesBackMemoryComesFirst) {
  const int x = storage(kLarge), y = storage(kLarge), z = storage(kLarge), w = storage(kLarge);
  const int other = storage(kLarge), result = storage(kLarge, plan::Buffer::RESULT);
  step("x", {}, {x});
  step("y", {x}, {y});
  step("other", {}, {other});
  step("more", {other}, {w});  // `other` is read again
  step("last_of_x", {x, y}, {z});
  step("end", {other, w, z, y}, {result});
  EXPECT_EQ(ordered(), "x y last_of_x other more end ");
}

// A step that writes over what another reads stays behind it, whatever it gives back.
TEST_F(OrderSteps, ReadersOfTheOldValueComeFirst) {
  const int a = storage(kLarge), b = storage(kLarge), c = storage(kLarge);
  step("a", {}, {a});
  step("b", {}, {b});
  step("reads_a", {a}, {c});
  step("overwrites_a", {b}, {a});
  step("end", {a, c}, {storage(kSmall, plan::Buffer::RESULT)});
  EXPECT_EQ(ordered(), "a b reads_a overwrites_a end ");
}

// An optimizer's step: its gradient is there before the old state is read for the last time.
std::string OrderSteps::order_of_an_update(bool in_place) {
  const int old_state = storage(kLarge, plan::Buffer::ARGUMENT);
  const int new_state = storage(kLarge, plan::Buffer::RESULT);
  const int gradient = storage(kLarge), y = storage(kLarge);
  step("gradient", {}, {gradient});
  step("y", {}, {y});
  step("reads_state", {old_state, y}, {y});
  step("update", {old_state, gradient}, {new_state});
  step("end", {y}, {storage(kSmall, plan::Buffer::RESULT)});
  return ordered(in_place ? std::vector<AliasedPair>{{old_state, new_state}}
                          : std::vector<AliasedPair>{});
}
TEST_F(OrderSteps, NewStateInPlaceComesAfterReadersOfTheOld) {
  EXPECT_EQ(order_of_an_update(true), "gradient y reads_state update end ");
}
TEST_F(OrderSteps, NewStateOfItsOwnNeedNotWait) {
  EXPECT_EQ(order_of_an_update(false), "gradient update y reads_state end ");
}

// Pieces of one storage are written in any order, and read when all are there.
TEST_F(OrderSteps, PiecesAreReadTogether) {
  const int a = storage(kLarge), b = storage(kLarge), whole = storage(2 * kLarge);
  storages_[whole].disjoint_writes = true;
  step("a", {}, {a});
  step("b", {}, {b});
  step("first", {a}, {whole});
  step("second", {b}, {whole});
  step("end", {whole}, {storage(kSmall, plan::Buffer::RESULT)});
  const std::string names = ordered();
  EXPECT_LT(names.find("first"), names.find("end"));
  EXPECT_LT(names.find("second"), names.find("end"));
}

// Inside of a loop; what the loop shares with others is not given back there.
TEST_F(OrderSteps, BodiesOfLoopsAreOrdered) {
  const int carried = storage(kLarge), g0 = storage(kLarge), g1 = storage(kLarge);
  const int b0 = storage(kSmall), b1 = storage(kSmall);
  step("before", {}, {carried});
  plan::Step& loop = *body_.add_steps();
  loop.set_op("loop");
  plan::Sequence& inside = *loop.mutable_while_()->mutable_body();
  fill(*inside.add_steps(), "gradient0", {carried}, {g0});
  fill(*inside.add_steps(), "gradient1", {g0}, {g1});
  fill(*inside.add_steps(), "sum0", {g0}, {b0});
  fill(*inside.add_steps(), "sum1", {g1}, {b1});
  fill(*inside.add_steps(), "carry", {b0, b1}, {carried});
  step("after", {carried}, {storage(kSmall, plan::Buffer::RESULT)});
  EXPECT_EQ(ordered(), "before loop after ");
  EXPECT_EQ(names(inside), "gradient0 sum0 gradient1 sum1 carry ");
}

}  // namespace
}  // namespace spmd::testing
