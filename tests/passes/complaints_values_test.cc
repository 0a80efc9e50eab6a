// Small programs on which partitioners are publicly known to give wrong numbers.
#include "ir/evaluator.h"
#include "passes/compile.h"
#include "passes/partition/shards.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using Ints = std::vector<int32_t>;

Literal ints(Dims shape, const Ints& values) {
  return Literal::of(TensorType{DType::kS32, std::move(shape)}, values);
}

// The first result of the partitioned program.
Ints partitioned_result(const Module& module, const std::vector<Literal>& inputs) {
  const Literal result =
      evaluate_partitioned(partition(module.clone()).module, inputs)[0].expanded();
  return Ints(result.as<int32_t>(), result.as<int32_t>() + result.type().num_elements());
}

// The partitioned program computes what the program computes.
void expect_right(const std::string& mesh, const std::string& main, double tolerance = 0) {
  sent_by(mesh, main, tolerance);
}

TEST(Complaints, AnUpdateOutOfRangeIsMovedIntoTheOperandNotDropped) {
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>},
      %u: tensor<2x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<i32>) ->
      (tensor<2x2xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %a, %u, %z, %i : (tensor<2x2xi32>, tensor<2x1xi32>, tensor<i32>, tensor<i32>) -> tensor<2x2xi32>
    return %0 : tensor<2x2xi32>
  })");
  for (int32_t start = -3; start <= 5; ++start) {
    const Ints expected = start < 1 ? Ints{8, 2, 9, 4} : Ints{1, 8, 3, 9};
    EXPECT_EQ(partitioned_result(
                  module, {ints({2, 2}, {1, 2, 3, 4}), ints({2, 1}, {8, 9}), ints({}, {start})}),
              expected)
        << "start " << start;
  }
}

TEST(Complaints, ASliceIsClampedByTheWholeDimension) {
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<2x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, %i: tensor<i32>) ->
      tensor<2x6xi32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = stablehlo.dynamic_slice %a, %z, %i, sizes = [2, 6] : (tensor<2x8xi32>, tensor<i32>, tensor<i32>) -> tensor<2x6xi32>
    return %0 : tensor<2x6xi32>
  })");
  Ints rows;
  for (int32_t i = 0; i < 16; ++i) rows.push_back(i);
  for (int32_t start = -2; start <= 9; ++start) {
    const int32_t first = start < 0 ? 0 : start > 2 ? 2 : start;
    Ints expected;
    for (int32_t row : {0, 8}) {
      for (int32_t i = 0; i < 6; ++i) expected.push_back(row + first + i);
    }
    EXPECT_EQ(partitioned_result(module, {ints({2, 8}, rows), ints({}, {start})}), expected)
        << "start " << start;
  }
}

TEST(Complaints, RowsOfAScatterThatNothingHitsStayZero) {
  expect_right("\"dp\"=2, \"tp\"=4", R"((
      %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>},
      %u: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}) ->
      (tensor<16x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"tp"}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<16x4xi32>
    %0 = "stablehlo.scatter"(%z, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<16x4xi32>, tensor<8x1xi32>, tensor<8x4xi32>) -> tensor<16x4xi32>
    return %0 : tensor<16x4xi32>
  })");
}

TEST(Complaints, APartialValueIsReducedAlongAllItsAxes) {
  const std::string main = R"((
      %a: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x", "y"}]>},
      %b: tensor<8x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", "y"}, {}]>}) ->
      (tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xi32>, tensor<8x4xi32>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
  })";
  // Along x it is scattered, along y every device needs the sum; or, of so little, all of it.
  EXPECT_EQ(sent_without_latency("\"x\"=2, \"y\"=2", main),
            (std::vector<std::string>{"reduce_scatter x 1 32", "all_reduce y 1 32"}));
  EXPECT_EQ(sent_by("\"x\"=2, \"y\"=2", main), std::vector<std::string>{"all_reduce y,x 1 96"});
}

TEST(Complaints, AnUpdateAtAConstantPlaceWhereBothAreSharded) {
  expect_right("\"x\"=4", R"((
      %a: tensor<16xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>},
      %u: tensor<8xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) ->
      (tensor<16xf64> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) {
    %i = stablehlo.constant dense<3> : tensor<i32>
    %0 = stablehlo.dynamic_update_slice %a, %u, %i : (tensor<16xf64>, tensor<8xf64>, tensor<i32>) -> tensor<16xf64>
    return %0 : tensor<16xf64>
  })");
}

TEST(Complaints, AConcatenationOfShardedPartsIsNotDoubled) {
  expect_right("\"data\"=4, \"model\"=2", R"((
      %a: tensor<4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>},
      %b: tensor<12xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) ->
      (tensor<16xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"data"}]>}) {
    %0 = stablehlo.concatenate %a, %b, dim = 0 : (tensor<4xf32>, tensor<12xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  })");
}

std::string cumulative_sum(int64_t size, bool backwards) {
  const std::string type = "tensor<2x" + std::to_string(size) + "xi32>";
  const std::string reach = std::to_string(size - 1);
  const std::string padding = backwards ? "0, " + reach : reach + ", 0";
  const std::string cut = " {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}";
  return "(%a: " + type + cut + ") -> (" + type + cut + ") {\n" +
         "%z = stablehlo.constant dense<0> : tensor<i32>\n" +
         "%0 = \"stablehlo.reduce_window\"(%a, %z) <{padding = dense<[[0, 0], [" + padding +
         "]]> : tensor<2x2xi64>, window_dimensions = array<i64: 1, " + std::to_string(size) +
         ">, window_strides = array<i64: 1, 1>}> ({\n^bb0(%p: tensor<i32>, %q: tensor<i32>):\n" +
         "%s = stablehlo.add %p, %q : tensor<i32>\nstablehlo.return %s : tensor<i32>\n}) : (" +
         type + ", tensor<i32>) -> " + type + "\nreturn %0 : " + type + "\n}";
}

TEST(Complaints, CumulativeSumsAlongTheShardedDimension) {
  for (const char* mesh : {"\"x\"=2", "\"x\"=4", "\"x\"=8"}) {
    for (bool backwards : {false, true}) {
      for (int64_t size : {64, 63}) expect_right(mesh, cumulative_sum(size, backwards));
    }
  }
  // Two rows of totals from every rank.
  EXPECT_EQ(sent_by("\"x\"=4", cumulative_sum(64, false)),
            std::vector<std::string>{"all_gather x 1 24"});
}

std::string top_k(int64_t size, int64_t k) {
  const std::string n = std::to_string(size), kk = std::to_string(k);
  return "(%a: tensor<2x" + n +
         "xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {\"x\"}]>}) -> "
         "(tensor<2x" +
         kk + "xi32>, tensor<2x" + kk + "xi32>) {\n%0:2 = chlo.top_k(%a, k = " + kk +
         ") : tensor<2x" + n + "xi32> -> (tensor<2x" + kk + "xi32>, tensor<2x" + kk +
         "xi32>)\nreturn %0#0, %0#1 : tensor<2x" + kk + "xi32>, tensor<2x" + kk + "xi32>\n}";
}

TEST(Complaints, TopKAlongTheShardedDimension) {
  // 5 candidates of 8 ranks, in two rows: values and places.
  EXPECT_EQ(sent_by("\"x\"=8", top_k(8192, 5)),
            (std::vector<std::string>{"all_gather x 1 280", "all_gather x 1 280"}));
  // More than a shard has, and with a shard that is not full.
  expect_right("\"x\"=8", top_k(64, 11));
  expect_right("\"x\"=8", top_k(61, 5));
}

TEST(Complaints, EqualElementsAreTakenByTheirPlace) {
  const Module module = sharded_program("\"x\"=4", R"((
      %a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<5xi32> {
    %0:2 = chlo.top_k(%a, k = 5) : tensor<8xi32> -> (tensor<5xi32>, tensor<5xi32>)
    return %0#1 : tensor<5xi32>
  })");
  EXPECT_EQ(partitioned_result(module, {ints({8}, {1, 7, 7, 1, 7, 0, 1, 7})}),
            (Ints{1, 2, 4, 7, 0}));
}

TEST(Complaints, AMeanOverUnevenShardsIsNoMeanOfMeans) {
  expect_right("\"x\"=2", R"((
      %a: tensor<3x4xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<f32> {
    %z = stablehlo.constant dense<0.0> : tensor<f32>
    %n = stablehlo.constant dense<12.0> : tensor<f32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<3x4xf32>, tensor<f32>) -> tensor<f32>
    %1 = stablehlo.divide %0, %n : tensor<f32>
    return %1 : tensor<f32>
  })",
               1e-6);
}

TEST(Complaints, AViewOfAShardedMatrix) {
  for (const char* mesh : {"\"x\"=2", "\"x\"=4"}) {
    expect_right(mesh, R"((
      %a: tensor<12x8xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}) -> tensor<16x6xf32> {
    %0 = stablehlo.reshape %a : (tensor<12x8xf32>) -> tensor<16x6xf32>
    return %0 : tensor<16x6xf32>
  })");
  }
}

TEST(Complaints, AScalarIsAddedToASumOnce) {
  const Module module = sharded_program("\"x\"=2", R"((
      %a: tensor<10x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<i32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %t = stablehlo.constant dense<10> : tensor<i32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x1xi32>, tensor<i32>) -> tensor<i32>
    %1 = stablehlo.add %0, %t : tensor<i32>
    return %1 : tensor<i32>
  })");
  EXPECT_EQ(partitioned_result(module, {ints({10, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})}), Ints{55});
}

TEST(Complaints, UnevenAndEmptyShardsAreGatheredWithoutTheirPadding) {
  for (const char* rows : {"1", "3", "5", "7"}) {
    const std::string type = "tensor<" + std::string(rows) + "x10xi32>";
    expect_right("\"x\"=4",
                 "(%a: " + type + " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) -> (" +
                     type + " {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {\n" +
                     "%0 = stablehlo.negate %a : " + type + "\nreturn %0 : " + type + "\n}");
  }
}

TEST(Complaints, AConvolutionOnUnevenRows) {
  expect_right("\"x\"=4", R"((
      %a: tensor<1x7x8x3xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>},
      %k: tensor<3x3x3x2xf32>) ->
      (tensor<1x7x8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}, {}]>}) {
    %0 = stablehlo.convolution(%a, %k) dim_numbers = [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], window = {stride = [1, 1], pad = [[1, 1], [1, 1]]} {batch_group_count = 1 : i64, feature_group_count = 1 : i64} : (tensor<1x7x8x3xf32>, tensor<3x3x3x2xf32>) -> tensor<1x7x8x2xf32>
    return %0 : tensor<1x7x8x2xf32>
  })",
               1e-5);
}

}  // namespace
}  // namespace spmd::testing
