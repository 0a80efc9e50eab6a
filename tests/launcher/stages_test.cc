// Programs beside themselves, and work in a process of its own.
#include "launcher/stages.h"

#include <unistd.h>

#include <csignal>

#include "gtest/gtest.h"
#include "ir/text.h"
#include "ir/verifier.h"
#include "launcher/failing_program.h"
#include "launcher/isolated.h"

namespace spmd {
namespace {

Module sum_of_exponentials() {
  Module module = parse_stablehlo(R"(module @test {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<f32> {
    %0 = stablehlo.exponential %a : tensor<64xf32>
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [0] : (tensor<64xf32>, tensor<f32>) -> tensor<f32>
    return %1 : tensor<f32>
  }
})",
                                  "test.mlir");
  verify(module);
  return module;
}

StageOptions on_real_numbers() {
  StageOptions options;
  options.inputs = InputStyle::kReal;
  return options;
}

TEST(CheckStages, AllowWhatRoundingExplainsAndNoMore) {
  const Module module = sum_of_exponentials();
  StageOptions options = on_real_numbers();
  EXPECT_FALSE(check_stages(module, options));
  // In parts, the sum has other last digits, which is no fault unless one asks for it.
  options.exact = true;
  const auto failure = check_stages(module, options);
  ASSERT_TRUE(failure);
  EXPECT_TRUE(failure->mismatch);
  EXPECT_EQ(failure->stage.substr(0, 9), "localize ");
  EXPECT_NE(failure->what.find("result 0 element 0 is "), std::string::npos);
  options.exact = false;
  options.tolerance = 1e-5;
  EXPECT_FALSE(check_stages(module, options));
}

TEST(CheckStages, VisitEveryStageInOrder) {
  StageOptions options = on_real_numbers();
  std::vector<std::string> stages, passes;
  options.on_stage = [&](const std::string& stage) { stages.push_back(stage); };
  options.inspect = [&](const std::string& pass, const Module&) { passes.push_back(pass); };
  EXPECT_FALSE(check_stages(sum_of_exponentials(), options));
  EXPECT_EQ(stages.front(), "evaluate");
  EXPECT_EQ(stages.back(), "run");
  EXPECT_EQ(passes.front(), "inline_calls");
  EXPECT_NE(std::find(passes.begin(), passes.end(), "pad_uneven"), passes.end());
}

TEST(CheckStages, ReportWhatIsThrown) {
  Module module = parse_stablehlo(R"(module @test {
  func.func public @main(%a: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.custom_call @Unknown(%a) : (tensor<4xf32>) -> tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})",
                                  "test.mlir");
  StageOptions options;
  EXPECT_EQ(check_stages(module, options)->stage, "evaluate");
  options.evaluate = false;
  const auto failure = check_stages(module, options);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->stage.find("check_custom_calls"), 0u) << failure->stage;
  EXPECT_FALSE(failure->mismatch);
  EXPECT_NE(failure->what.find("Unknown"), std::string::npos);
}

TEST(Isolated, ReturnsWhatTheWorkReturns) {
  const IsolatedOutcome outcome =
      run_isolated([] { return std::string(200'000, 'a') + "\nb"; }, 60);
  EXPECT_TRUE(outcome.finished());
  EXPECT_EQ(outcome.text.size(), 200'002u);
  EXPECT_EQ(outcome.failure(), "");
}

TEST(Isolated, SurvivesCrashesAndHangs) {
  const IsolatedOutcome crash = run_isolated(
      []() -> std::string {
        std::raise(SIGSEGV);
        return "";
      },
      60);
  EXPECT_EQ(crash.signal, SIGSEGV);
  EXPECT_NE(crash.failure().find("crashed with signal 11"), std::string::npos);
  const IsolatedOutcome hang = run_isolated(
      []() -> std::string {
        while (true) pause();
      },
      0.2);
  EXPECT_TRUE(hang.timed_out);
  EXPECT_EQ(hang.failure(), "took longer than 0.2 s");
}

TEST(FailingProgram, IsMadeSmallerAndFailsAlike) {
  StageOptions options = on_real_numbers();
  options.exact = true;
  const Module module = sum_of_exponentials();
  const auto failure = check_isolated(module, options, 60);
  ASSERT_TRUE(failure);
  const Module smallest = reduce_program(module.clone(), *failure, options, 60);
  const auto left = check_isolated(smallest, options, 60);
  ASSERT_TRUE(left);
  EXPECT_EQ(left->signature, failure->signature);
  EXPECT_EQ(smallest.main().num_live_ops(), 4u);  // the sum with its reducer, and the returns
}

}  // namespace
}  // namespace spmd
