// The exported programs.
#include <algorithm>
#include <vector>

#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

std::vector<std::filesystem::path> programs() {
  std::vector<std::filesystem::path> found;
  const std::filesystem::path folder = std::string(SPMD_SOURCE_DIR) + "/tests/data/models";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const auto path = entry.path() / "model.mlir";
    if (std::filesystem::exists(path)) found.push_back(path);
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(TextPrograms, RoundTrip) {
  const auto all = programs();
  ASSERT_FALSE(all.empty());
  for (const auto& path : all) {
    SCOPED_TRACE(path.string());
    expect_round_trips(parse_stablehlo(read_file(path), path.filename().string()));
  }
}

TEST(TextPrograms, StateIsNamedAfterItsResults) {
  const std::filesystem::path folder = std::string(SPMD_SOURCE_DIR) + "/tests/data/models";
  const Module module =
      parse_stablehlo(read_file(folder / "ring_shard_map" / "model.mlir"), "model.mlir");
  const Function& fn = module.main();
  ASSERT_EQ(fn.arguments().size(), 4u);
  EXPECT_EQ(fn.argument_info[0].name, "result[0]['params']['v']");
  EXPECT_EQ(fn.argument_info[0].aliased_result, 0);
  EXPECT_EQ(fn.argument_info[1].name, "result[0]['params']['w']");
  EXPECT_EQ(fn.argument_info[2].name, "");
  EXPECT_EQ(fn.argument_info[2].aliased_result, -1);
  EXPECT_EQ(fn.result_info[2].name, "result[1]");
  EXPECT_EQ(fn.value(fn.arguments()[2]).sharding->to_string(module.mesh), R"([{"ring"}, {}])");
}

}  // namespace
}  // namespace spmd::testing
