// Small programs on which partitioners are publicly known to give wrong numbers.
#include <limits>

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

TEST(Complaints, AScatterThatALoopAccumulates) {
  // Two batches of repeated rows; what two ranks add to one row counts twice.
  const Module module = sharded_program("\"x\"=4", R"((
      %t: tensor<8x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %ids: tensor<2x4x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}, {}]>},
      %u: tensor<4x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) ->
      (tensor<8x3xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<2> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %0:2 = stablehlo.while(%i = %z, %c = %t) : tensor<i32>, tensor<8x3xi32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      %l = stablehlo.dynamic_slice %ids, %i, %z, %z, sizes = [1, 4, 1] : (tensor<2x4x1xi32>, tensor<i32>, tensor<i32>, tensor<i32>) -> tensor<1x4x1xi32>
      %m = stablehlo.reshape %l : (tensor<1x4x1xi32>) -> tensor<4x1xi32>
      %s = "stablehlo.scatter"(%c, %m, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %a = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %a : tensor<i32>
      }) : (tensor<8x3xi32>, tensor<4x1xi32>, tensor<4x3xi32>) -> tensor<8x3xi32>
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<8x3xi32>
    }
    return %0#1 : tensor<8x3xi32>
  })");
  // Rows of u are 1, 10, 100, 1000; row 0 is hit by the first twice, row 7 by three in one batch.
  const Ints updates = {1, 1, 1, 10, 10, 10, 100, 100, 100, 1000, 1000, 1000};
  Ints expected(24, 5);
  const auto hit = [&](size_t row, int32_t by) {
    for (size_t i = 0; i < 3; ++i) expected[3 * row + i] += by;
  };
  hit(0, 2);
  hit(7, 1110);
  hit(3, 110);
  hit(4, 1000);
  EXPECT_EQ(partitioned_result(
                module, {ints({8, 3}, Ints(24, 5)), ints({2, 4, 1}, {0, 7, 7, 7, 0, 3, 3, 4}),
                         ints({4, 3}, updates)}),
            expected);
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

TEST(Complaints, TheLargestMayBeNoNumbers) {
  const Module module = sharded_program("\"x\"=4", R"((
      %a: tensor<7xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<3xi32> {
    %0:2 = chlo.top_k(%a, k = 3) : tensor<7xf32> -> (tensor<3xf32>, tensor<3xi32>)
    return %0#1 : tensor<3xi32>
  })");
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto places = [&](const std::vector<float>& values) {
    return partitioned_result(module, {Literal::of(TensorType{DType::kF32, {7}}, values)});
  };
  EXPECT_EQ(places({1, 2, nan, 0, infinity, 3, -1}), (Ints{2, 4, 5}));
  // Nothing is smaller than what the last shard is filled with, and still it is not taken.
  EXPECT_EQ(places({-infinity, -infinity, -infinity, -infinity, -infinity, -infinity, -infinity}),
            (Ints{0, 1, 2}));
}

TEST(Complaints, ATableWhoseRowsDoNotDivide) {
  // 17 words over 8 ranks: blocks of three, the last two ranks with two and with none.
  expect_right("\"x\"=8", R"((
      %t: tensor<17x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %i: tensor<6x1xi32>) -> tensor<6x4xi32> {
    %c = stablehlo.constant dense<5> : tensor<6x1xi32>
    %j = stablehlo.multiply %i, %c : tensor<6x1xi32>
    %0 = "stablehlo.gather"(%t, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 4>}> : (tensor<17x4xi32>, tensor<6x1xi32>) -> tensor<6x4xi32>
    return %0 : tensor<6x4xi32>
  })");
}

TEST(Complaints, RowsThatAreFoundKeepTheSignOfZero) {
  const Module module = sharded_program("\"x\"=4", R"((
      %t: tensor<8x2xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>},
      %i: tensor<2x1xi32>, %j: tensor<i32>) -> (tensor<2x2xi32>, tensor<3x2xi32>) {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %0 = "stablehlo.gather"(%t, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 2>}> : (tensor<8x2xf32>, tensor<2x1xi32>) -> tensor<2x2xf32>
    %1 = stablehlo.dynamic_slice %t, %j, %z, sizes = [3, 2] : (tensor<8x2xf32>, tensor<i32>, tensor<i32>) -> tensor<3x2xf32>
    %2 = stablehlo.bitcast_convert %0 : (tensor<2x2xf32>) -> tensor<2x2xi32>
    %3 = stablehlo.bitcast_convert %1 : (tensor<3x2xf32>) -> tensor<3x2xi32>
    return %2, %3 : tensor<2x2xi32>, tensor<3x2xi32>
  })");
  const std::vector<float> table = {0, 1, 0, 1, 0, 1, -0.0F, 0, 0.0F, -0.0F, 0, 1, 0, 1, 0, 1};
  const std::vector<Literal> inputs = {Literal::of(TensorType{DType::kF32, {8, 2}}, table),
                                       ints({2, 1}, {3, 4}), ints({}, {3})};
  const int32_t minus = std::numeric_limits<int32_t>::min(), one = 0x3F800000;
  for (double latency : {0.0, CostModel().latency}) {
    CompileOptions options;
    options.cost.latency = latency;
    const std::vector<Literal> results =
        evaluate_partitioned(partition(module.clone(), options).module, inputs);
    const auto bits = [&](size_t i) {
      const Literal result = results[i].expanded();
      return Ints(result.as<int32_t>(), result.as<int32_t>() + result.type().num_elements());
    };
    EXPECT_EQ(bits(0), (Ints{minus, 0, 0, minus}));
    EXPECT_EQ(bits(1), (Ints{minus, 0, 0, minus, 0, one}));
  }
}

TEST(Complaints, AnAxisThatCutsTheTableAndTheIndices) {
  expect_right("\"x\"=2, \"y\"=4", R"((
      %t: tensor<32x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>},
      %i: tensor<8x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) ->
      (tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {"x"}]>}) {
    %c = stablehlo.constant dense<11> : tensor<8x1xi32>
    %j = stablehlo.multiply %i, %c : tensor<8x1xi32>
    %0 = "stablehlo.gather"(%t, %j) <{dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], start_index_map = [0], index_vector_dim = 1>, indices_are_sorted = false, slice_sizes = array<i64: 1, 8>}> : (tensor<32x8xi32>, tensor<8x1xi32>) -> tensor<8x8xi32>
    return %0 : tensor<8x8xi32>
  })");
}

TEST(Complaints, RandomBitsDoNotDependOnShards) {
  for (const char* mesh : {"\"x\"=1", "\"x\"=2", "\"x\"=4"}) {
    for (const char* rows : {"16", "15"}) {
      const std::string type = "tensor<" + std::string(rows) + "x6xui32>";
      expect_right(mesh, "(%s: tensor<2xui64>) -> (" + type +
                             " {sdy.sharding = #sdy.sharding<@mesh, [{\"x\"}, {}]>}) {\n" +
                             "%0:2 = stablehlo.rng_bit_generator %s, algorithm = THREE_FRY : "
                             "(tensor<2xui64>) -> (tensor<2xui64>, " +
                             type + ")\nreturn %0#1 : " + type + "\n}");
    }
  }
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

TEST(Complaints, APartialSumIsWholeBeforeWhatIsNotLinear) {
  const auto of_sum = [](const std::string& op) {
    return sharded_program("\"x\"=2", R"((
      %a: tensor<10x1xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<i32> {
    %z = stablehlo.constant dense<0> : tensor<i32>
    %t = stablehlo.constant dense<30> : tensor<i32>
    %0 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0, 1] : (tensor<10x1xi32>, tensor<i32>) -> tensor<i32>
    )" + op + "\nreturn %1 : tensor<i32>\n}");
  };
  const std::vector<Literal> digits = {ints({10, 1}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9})};
  EXPECT_EQ(partitioned_result(of_sum("%1 = stablehlo.maximum %0, %t : tensor<i32>"), digits),
            Ints{45});
  EXPECT_EQ(partitioned_result(of_sum("%1 = stablehlo.multiply %0, %0 : tensor<i32>"), digits),
            Ints{2025});
  EXPECT_EQ(partitioned_result(of_sum("%p = stablehlo.compare GT, %0, %t, SIGNED : (tensor<i32>, "
                                      "tensor<i32>) -> tensor<i1>\n%1 = stablehlo.convert %p : "
                                      "(tensor<i1>) -> tensor<i32>"),
                               digits),
            Ints{1});
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
