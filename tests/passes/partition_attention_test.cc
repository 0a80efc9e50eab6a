// What partitioning sends for attention: nothing for batches and heads.
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

constexpr char kQuery[] = "tensor<4x6x4x2x8xf32>", kKey[] = "tensor<4x6x4x8xf32>",
               kStatistics[] = "tensor<4x4x2x6xf32>";

// Both passes, of operands placed so.
std::string layer(const std::string& query, const std::string& key) {
  const std::string q = kQuery, k = kKey, s = kStatistics;
  const auto placed = [](const std::string& type, const std::string& sharding) {
    return type + " {sdy.sharding = #sdy.sharding<@mesh, " + sharding + ">}";
  };
  const std::string attrs = " <{causal = true, scale = 0.25 : f64}> : (";
  return "(%q: " + placed(q, query) + ", %k: " + placed(k, key) + ", %v: " + placed(k, key) +
         ", %d: " + placed(q, query) + ") -> (" + placed(q, query) + ", " + placed(q, query) +
         ", " + placed(k, key) + ", " + placed(k, key) +
         ") {\n%o:2 = \"spmd.attention\"(%q, %k, %v)" + attrs + q + ", " + k + ", " + k + ") -> (" +
         q + ", " + s + ")\n%g:3 = \"spmd.attention_backward\"(%q, %k, %v, %o#0, %o#1, %d)" +
         attrs + q + ", " + k + ", " + k + ", " + q + ", " + s + ", " + q + ") -> (" + q + ", " +
         k + ", " + k + ")\nreturn %o#0, %g#0, %g#1, %g#2 : " + q + ", " + q + ", " + k + ", " + k +
         "\n}";
}

constexpr double kRounding = 1e-5;

TEST(PartitionAttention, BatchesAndHeadsSendNothing) {
  EXPECT_EQ(sent_by("\"x\"=2, \"y\"=2",
                    layer(R"([{"x"}, {}, {"y"}, {}, {}])", R"([{"x"}, {}, {"y"}, {}])"), kRounding),
            Lines{});
}

// Shards that do not divide them.
TEST(PartitionAttention, UnevenHeads) {
  EXPECT_EQ(
      sent_by("\"x\"=3", layer(R"([{}, {}, {"x"}, {}, {}])", R"([{}, {}, {"x"}, {}])"), kRounding),
      Lines{});
}

// Each query needs all keys: a half of keys and of values, each 4 x 6 x 4 x 8 numbers, come from
// the other device, and so do halves of queries, outputs' gradients and all else that is cut.
TEST(PartitionAttention, PositionsAreGathered) {
  const Lines lines =
      sent_by("\"x\"=2", layer(R"([{}, {"x"}, {}, {}, {}])", R"([{}, {"x"}, {}, {}])"), kRounding);
  EXPECT_FALSE(lines.empty());
  for (const std::string& line : lines) {
    EXPECT_EQ(line.find("all_reduce"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace spmd::testing
