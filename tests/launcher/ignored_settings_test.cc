#include "launcher/ignored_settings.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

std::vector<std::string> ignored(const std::string& yaml, bool is_plan, bool has_gpu) {
  return ignored_settings(parse_run_config(yaml, "run.yaml"), is_plan, has_gpu);
}

TEST(IgnoredSettings, GraphsNeedAGpu) {
  const std::vector<std::string> warnings = {
      "--cuda-graphs on does nothing: this run is on no GPU\n"
      "  leave it out, or run with --device cuda where there is one"};
  EXPECT_EQ(ignored("cuda-graphs: on", false, false), warnings);
  EXPECT_TRUE(ignored("cuda-graphs: on", false, true).empty());
  EXPECT_TRUE(ignored("cuda-graphs: off", false, false).empty());
}

TEST(IgnoredSettings, APlanIsCompiledAlready) {
  const std::string yaml = "{compile-budget: 3, explain: fusion, codegen: off, set-dim: [b=2]}";
  EXPECT_EQ(ignored(yaml, true, false).size(), 4u);
  EXPECT_EQ(ignored("{explain: fusion}", true, false)[0],
            "--explain does nothing: MODEL is a compiled Plan\n"
            "  leave it out, or give the program and compile it again");
  EXPECT_TRUE(ignored("{compile-budget: 3, explain: fusion}", false, false).empty());
  EXPECT_EQ(ignored("{compile-budget: 3, codegen: off}", false, false).size(), 1u);
}

}  // namespace
}  // namespace spmd
