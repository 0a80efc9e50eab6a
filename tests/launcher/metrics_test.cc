#include "launcher/metrics.h"

#include <gtest/gtest.h>

#include <cmath>

namespace spmd {
namespace {

plan::Plan plan_with_results(const std::vector<std::string>& names) {
  plan::Plan plan;
  for (const std::string& name : names) plan.add_results()->set_name(name);
  return plan;
}

TEST(Metrics, NameIsWhatFollowsTheTuplesIndex) {
  EXPECT_EQ(metric_name("result[1]['train/loss']"), "train/loss");
  EXPECT_EQ(metric_name("result[1].aux['z']"), "aux/z");
  EXPECT_EQ(metric_name("result[1]"), "");
  EXPECT_EQ(metric_name("result['loss']"), "loss");
  EXPECT_EQ(metric_name("results"), "results");
  EXPECT_EQ(metric_name("result["), "");
  EXPECT_EQ(metric_name(""), "");
}

TEST(Metrics, SingleNamelessIsTheLoss) {
  EXPECT_EQ(name_metrics(plan_with_results({"w", "result[1]"}), {1}),
            std::vector<std::string>{"loss"});
  EXPECT_EQ(name_metrics(plan_with_results({"result[0]", "result[1]['acc']"}), {0, 1}),
            (std::vector<std::string>{"loss", "acc"}));
}

TEST(Metrics, NamesAreDistinct) {
  EXPECT_EQ(name_metrics(plan_with_results({"", ""}), {0, 1}),
            (std::vector<std::string>{"result[0]", "result[1]"}));
  EXPECT_EQ(name_metrics(plan_with_results({"a['x']", "a['x']"}), {0, 1}),
            (std::vector<std::string>{"result[0]/a/x", "result[1]/a/x"}));
}

TEST(Metrics, LineIsJsonWhateverTheNumbers) {
  EXPECT_EQ(metrics_line(3, {"loss", "n", "bad"}, {0.5, 7, std::nan("")}),
            R"({"step":3,"loss":0.5,"n":7,"bad":"NaN"})");
}

}  // namespace
}  // namespace spmd
