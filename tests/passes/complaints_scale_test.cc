// Programs on which compilers are publicly known to take long, to write much or to need much
// memory: what is counted here does not depend on the machine.
#include "passes/compile.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

int64_t ops_of(const CompileResult& result) {
  return static_cast<int64_t>(result.module.main().num_live_ops());
}

// As many draws of a normal distribution's numbers, each from a key of its own.
Module draws(int count) {
  std::string arguments, types, body, results;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), comma = i > 0 ? ", " : "";
    arguments += comma + "%k" + n + ": tensor<2xui64>";
    types += comma + "tensor<64x64xf32> {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
    body += "%r" + n + ":2 = stablehlo.rng_bit_generator %k" + n +
            ", algorithm = THREE_FRY : (tensor<2xui64>) -> (tensor<2xui64>, "
            "tensor<64x64xui32>)\n%s" +
            n + " = stablehlo.shift_right_logical %r" + n + "#1, %nine : tensor<64x64xui32>\n%o" +
            n + " = stablehlo.or %s" + n + ", %bits : tensor<64x64xui32>\n%f" + n +
            " = stablehlo.bitcast_convert %o" + n +
            " : (tensor<64x64xui32>) -> tensor<64x64xf32>\n%u" + n + " = stablehlo.subtract %f" +
            n + ", %shift : tensor<64x64xf32>\n%n" + n + " = chlo.erf_inv %u" + n +
            " : tensor<64x64xf32> -> tensor<64x64xf32>\n";
    results += comma + "%n" + n;
  }
  std::string plain;
  for (int i = 0; i < count; ++i) plain += std::string(i > 0 ? ", " : "") + "tensor<64x64xf32>";
  return sharded_program(
      "\"x\"=4", "(" + arguments + ") -> (" + types +
                     ") {\n%nine = stablehlo.constant dense<9> : tensor<64x64xui32>\n%bits = "
                     "stablehlo.constant dense<1065353216> : tensor<64x64xui32>\n%shift = "
                     "stablehlo.constant dense<1.5> : tensor<64x64xf32>\n" +
                     body + "return " + results + " : " + plain + "\n}");
}

TEST(ComplaintsScale, HundredsOfSmallDrawsGrowTheProgramInProportion) {
  const int64_t few = ops_of(partition(draws(56))), many = ops_of(partition(draws(448)));
  EXPECT_LE(many, 8 * few);
  EXPECT_TRUE(partition(draws(8)).collectives.empty());
}

// Layers with a weight each: h = tanh(h w), the rows of h and of the weights over "x".
Module layers(int count, int64_t devices, int64_t batch, int64_t width) {
  const std::string h = "tensor<" + std::to_string(batch) + "x" + std::to_string(width) + "xf32>";
  const std::string w = "tensor<" + std::to_string(width) + "x" + std::to_string(width) + "xf32>";
  const std::string rows = " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}";
  std::string arguments = "%h0: " + h + rows, body;
  for (int i = 0; i < count; ++i) {
    const std::string n = std::to_string(i), next = std::to_string(i + 1);
    arguments += ", %w" + n + ": " + w + rows;
    body += "%d" + n + " = stablehlo.dot_general %h" + n + ", %w" + n +
            ", contracting_dims = [1] x [0] : (" + h + ", " + w + ") -> " + h + "\n%h" + next +
            " = stablehlo.tanh %d" + n + " : " + h + "\n";
  }
  return sharded_program("\"x\"=" + std::to_string(devices),
                         "(" + arguments + ") -> (" + h + rows + ") {\n" + body + "return %h" +
                             std::to_string(count) + " : " + h + "\n}");
}

TEST(ComplaintsScale, TheProgramOfARankDoesNotGrowWithTheDevices) {
  const int64_t on_eight = ops_of(partition(layers(24, 8, 65536, 4096)));
  for (int64_t devices : {64, 512, 4096}) {
    EXPECT_EQ(ops_of(partition(layers(24, devices, 65536, 4096))), on_eight) << devices;
  }
}

TEST(ComplaintsScale, UnrolledLayersHoldFewGatheredWeightsAtATime) {
  // A block of h and the next layer's, and what two layers gather.
  constexpr int64_t kWeight = 256 * 256 * 4, kBlock = 4096 / 4 * 256 * 4;
  const CompileResult result = compile(layers(16, 4, 4096, 256));
  ASSERT_EQ(result.collectives.size(), 16u);
  for (const CollectiveUse& use : result.collectives) {
    EXPECT_EQ(use.kind, CollectiveKind::kAllGather);
    EXPECT_EQ(use.bytes, kWeight * 3 / 4);
  }
  EXPECT_LE(result.plan.arena_bytes(), 2 * kBlock + 2 * kWeight);
}

TEST(ComplaintsScale, AReshardNeedsLessThanTheWholeTensor) {
  const CompileResult result = compile(sharded_program("\"x\"=4, \"y\"=2", R"((
      %a: tensor<16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}, {"x"}]>}) ->
      (tensor<16x16x16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}, {}]>}) {
    %0 = stablehlo.negate %a : tensor<16x16x16xf32>
    return %0 : tensor<16x16x16xf32>
  })"));
  EXPECT_LT(result.plan.arena_bytes(), 16 * 16 * 16 * 4);
}

}  // namespace
}  // namespace spmd::testing
