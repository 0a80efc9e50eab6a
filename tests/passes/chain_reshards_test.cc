#include "passes/chain_reshards.h"

#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Lines = std::vector<std::string>;

TEST(ChainReshards, ABlockOfWhatIsGatheredAnyhowIsCutFromThat) {
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>},
       tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    return %a, %a : tensor<8x4xf32>, tensor<8x4xf32>
  })");
  const Module after = partitioned_to("chain_reshards", module);
  expect_same_values(module, after);
  EXPECT_EQ(reshards_of(after), (Lines{R"(tensor<8x4xf32> [{"x"}, {}] -> [{}, {}])",
                                       R"(tensor<8x4xf32> [{}, {}] -> [{}, {"x"}])"}));
}

TEST(ChainReshards, NothingIsReadBeforeItIsMade) {
  // The other way round the block comes first.
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
       tensor<8x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    return %a, %a : tensor<8x4xf32>, tensor<8x4xf32>
  })");
  const Module after = partitioned_to("chain_reshards", module);
  EXPECT_EQ(reshards_of(after), (Lines{R"(tensor<8x4xf32> [{"x"}, {}] -> [{}, {"x"}])",
                                       R"(tensor<8x4xf32> [{"x"}, {}] -> [{}, {}])"}));
}

}  // namespace
}  // namespace spmd::testing
