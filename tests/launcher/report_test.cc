#include "launcher/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace spmd {
namespace {

// State of 96 bytes, an input of 32, a result of 4 and an arena of 640.
plan::Plan small_plan() {
  plan::Plan plan;
  plan.set_source("m.mlir");
  plan.set_arena_bytes(640);
  const auto add = [&](plan::Buffer::Kind kind, int64_t bytes) {
    plan::Buffer* buffer = plan.add_buffers();
    buffer->set_kind(kind);
    buffer->set_bytes(bytes);
  };
  add(plan::Buffer::ARGUMENT, 96);
  add(plan::Buffer::ARGUMENT, 32);
  add(plan::Buffer::RESULT, 4);
  for (int buffer = 0; buffer < 2; ++buffer) {
    plan::Argument* argument = plan.add_arguments();
    argument->set_buffer(buffer);
    argument->set_aliased_result(buffer == 0 ? 0 : -1);
  }
  return plan;
}

TEST(Report, MemoryIsTheSumOfItsParts) {
  nlohmann::ordered_json report = report_of_plan(small_plan());
  EXPECT_EQ(report["memory"]["state_bytes"], 96);
  EXPECT_EQ(report["memory"]["input_bytes"], 32);
  EXPECT_EQ(report["peak_memory_bytes"], 96 + 32 + 4 + 640);
  EXPECT_FALSE(report["memory"].contains("workspace_bytes"));
  EXPECT_NE(report_text(report).find("workspace not counted"), std::string::npos);
}

TEST(Report, ARunAddsWhatThePlanDoesNotKnow) {
  nlohmann::ordered_json report = report_of_plan(small_plan());
  add_measurements(report, {{2.0, 1.5, 0.5, 0.5}}, {}, 1000);
  EXPECT_EQ(report["peak_memory_bytes"], 1000);
  EXPECT_EQ(report["memory"]["workspace_bytes"], 1000 - (96 + 32 + 4 + 640));
  add_remarks(report, {});
  EXPECT_NE(report_text(report).find("temporaries 640 B, workspace 228 B"), std::string::npos)
      << report_text(report);
}

// Names come from files, which may hold any bytes.
TEST(Report, AnyNameCanBeWritten) {
  plan::Plan plan = small_plan();
  plan.set_source("\xFF\x1b[2J.mlir");
  const nlohmann::ordered_json report = report_of_plan(plan);
  EXPECT_NE(report_json(report).find("\"\xEF\xBF\xBD\\u001b[2J.mlir\""), std::string::npos)
      << report_json(report);
  EXPECT_NE(report_text(report).find("\\xFF\\x1B[2J.mlir"), std::string::npos);
}

}  // namespace
}  // namespace spmd
