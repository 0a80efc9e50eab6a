#include "launcher/missing_state.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

struct Entry {
  std::string name;
  std::vector<int64_t> shape;
  int aliased = -1;  // of an argument
};

void place(plan::Placement& placement, const Entry& entry) {
  placement.set_dtype(plan::F32);
  for (int64_t size : entry.shape) placement.add_global_shape(size);
}

plan::Plan plan_of(const std::vector<Entry>& arguments, const std::vector<Entry>& results) {
  plan::Plan plan;
  plan.set_source("step.mlir");
  for (const Entry& entry : arguments) {
    plan::Argument& argument = *plan.add_arguments();
    argument.set_name(entry.name);
    argument.set_aliased_result(entry.aliased);
    place(*argument.mutable_placement(), entry);
  }
  for (const Entry& entry : results) {
    plan::Result& result = *plan.add_results();
    result.set_name(entry.name);
    place(*result.mutable_placement(), entry);
  }
  return plan;
}

// "argument=result" of each pair.
std::string pairs_of(const plan::Plan& plan, const std::vector<int>& advancing = {}) {
  std::string text;
  for (const StatePair& pair : missing_state(plan, advancing))
    text += fmt::format("{}={} ", pair.argument, pair.result);
  return text;
}

TEST(MissingState, NamesThatEndAlikeGoTogether) {
  // Of one type each: names decide, not the order.
  const plan::Plan plan = plan_of(
      {{"state.params.w", {4, 2}}, {"state.mu.w", {4, 2}}, {"x", {8, 4}}},
      {{"result[0]['mu']['w']", {4, 2}}, {"result[0]['params']['w']", {4, 2}}, {"result[1]", {}}});
  EXPECT_EQ(pairs_of(plan), "0=1 1=0 ");
}

TEST(MissingState, TypesMustAgree) {
  EXPECT_EQ(pairs_of(plan_of({{"params.w", {4, 2}}}, {{"result[0]['params']['w']", {2, 4}}})), "");
}

// Without names in the program: by type, in order. A scalar is as likely a loss.
TEST(MissingState, WithoutNamesTypesDecide) {
  const plan::Plan plan =
      plan_of({{"", {4, 2}}, {"", {}}, {"", {4, 2}}, {"", {8, 4}}},
              {{"result[0]", {4, 2}}, {"result[1]", {4, 2}}, {"result[2]", {}}});
  EXPECT_EQ(pairs_of(plan), "0=0 2=1 ");
  EXPECT_EQ(pairs_of(plan, {0}), "2=0 ");
}

// Where some state is donated, a result of the same type alone says nothing.
TEST(MissingState, BesideKnownStateNamesMustAgree) {
  const plan::Plan plan = plan_of(
      {{"params.w", {4}, 0}, {"mu.w", {4}}, {"", {4}}},
      {{"result[0]['params']['w']", {4}}, {"result[0]['mu']['w']", {4}}, {"result[1]", {4}}});
  EXPECT_EQ(pairs_of(plan), "1=1 ");
  EXPECT_EQ(*describe_missing_state(plan, missing_state(plan), 1),
            "1 argument may be state that no result replaces: mu.w f32[4] is one, of which "
            "result[0]['mu']['w'] may be the next value\n"
            "  export the step with its whole state donated and returned: jax.jit(step, "
            "donate_argnums=0)");
}

TEST(MissingState, ChecksAreNoState) {
  EXPECT_EQ(pairs_of(plan_of({{"", {4}}}, {{"check.expect_eq at a.mlir:3", {4}}})), "");
}

TEST(MissingState, IsSaidOfSeveralStepsWithoutAnyState) {
  const plan::Plan inference = plan_of({{"x", {8, 4}}}, {{"y", {8, 2}}});
  EXPECT_FALSE(describe_missing_state(inference, missing_state(inference), 1));
  const auto text = describe_missing_state(inference, missing_state(inference), 5);
  ASSERT_TRUE(text);
  EXPECT_EQ(text->find("keeps no state: no result replaces an argument, so that every step begins "
                       "with the same values\n  if it is to train: export"),
            0u)
      << *text;
  const plan::Plan trained = plan_of({{"w", {4}, 0}, {"x", {8}}}, {{"w", {4}}, {"loss", {}}});
  EXPECT_FALSE(describe_missing_state(trained, missing_state(trained), 5));
}

}  // namespace
}  // namespace spmd
