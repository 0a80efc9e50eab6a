// The exported programs with collectives on a stream of their own: no race, and one when any of the
// events is dropped.
#include <algorithm>
#include <filesystem>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "gtest/gtest.h"
#include "passes/compile.h"
#include "runtime/plan/races.h"
#include "support/error.h"

namespace spmd::testing {
namespace {

std::vector<std::string> exported_programs() {
  std::vector<std::string> paths;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(SPMD_SOURCE_DIR) + "/tests/data/models")) {
    const auto path = entry.path() / "model.mlir";
    if (std::filesystem::exists(path)) paths.push_back(path.string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

plan::Plan plan_with_streams(const std::string& path) {
  CompileOptions options;
  options.streams = true;
  return compile(import_bytes(read_file(path), path, {}), options).plan;
}

// Takes an event away; returns the number of the first step that waited for it.
int drop_event(plan::Sequence& body, int32_t event) {
  int first = -1;
  for (int s = 0; s < body.steps_size(); ++s) {
    plan::Step& step = *body.mutable_steps(s);
    if (step.event() == event) step.set_event(0);
    auto& waits = *step.mutable_waits_for();
    const auto at = std::find(waits.begin(), waits.end(), event);
    if (at == waits.end()) continue;
    waits.erase(at);
    if (first < 0) first = s;
  }
  return first;
}

TEST(PlanStreams, ExportedProgramsHaveNoRaceAndNoEventTooMany) {
  int events = 0, programs = 0;
  for (const std::string& path : exported_programs()) {
    const plan::Plan plan = plan_with_streams(path);
    ++programs;
    EXPECT_EQ(plan::find_race(plan).value_or("none"), "none") << path;
    for (const plan::Step& step : plan.programs(0).body().steps()) {
      if (step.event() == 0) continue;
      ++events;
      plan::Plan mutant = plan;
      const int waiter = drop_event(*mutant.mutable_programs(0)->mutable_body(), step.event());
      ASSERT_GE(waiter, 0) << path << ": nobody waits for event " << step.event();
      const std::string race = plan::find_race(mutant).value_or("none");
      EXPECT_NE(race.find(fmt::format(" and step {} (", waiter)), std::string::npos)
          << path << ", event " << step.event() << ": " << race;
    }
  }
  EXPECT_GE(programs, 9);
  EXPECT_GT(events, 50);
}

}  // namespace
}  // namespace spmd::testing
