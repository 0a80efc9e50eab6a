// Small programs on which partitioners are publicly known to be wrong or to fail, at every stage
// and run. Those whose numbers are worked out by hand are in
// tests/passes/complaints_values_test.cc.
#include "gtest/gtest.h"
#include "tests/differential/same_meaning.h"

namespace spmd::testing {
namespace {

const std::string kTwoRanks = R"("x"=2)";
const std::string kFour = R"("x"=4)";

// ---- donated arguments

TEST(ComplaintsRun, ADonatedArgumentWhoseResultIsPlacedTheOtherWayRound) {
  // As many bytes per device, and still not the same elements.
  expect_same_meaning(kFour, R"((
      %a: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) ->
      (tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"x"}]>}, tensor<8x8xi32>) {
    %0 = stablehlo.negate %a : tensor<8x8xi32>
    %1 = stablehlo.multiply %a, %a : tensor<8x8xi32>
    return %0, %1 : tensor<8x8xi32>, tensor<8x8xi32>
  })");
}

TEST(ComplaintsRun, ADonatedArgumentWhoseResultIsReplicated) {
  expect_same_meaning(kFour, R"((
      %a: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>, tf.aliasing_output = 0 : i32}) ->
      (tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}]>}) {
    %0 = stablehlo.add %a, %a : tensor<8x8xi32>
    return %0 : tensor<8x8xi32>
  })");
}

// ---- sizes, tokens

TEST(ComplaintsRun, AParameterWhoseRowsDoNotDivide) {
  expect_same_meaning(kFour, R"((
      %a: tensor<10xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}) -> tensor<10xi32> {
    %0 = stablehlo.reverse %a, dims = [0] : tensor<10xi32>
    return %0 : tensor<10xi32>
  })");
}

TEST(ComplaintsRun, Tokens) {
  expect_same_meaning(kFour, R"((
      %a: tensor<8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}]>}, %t: !stablehlo.token) -> (tensor<8xi32>, !stablehlo.token) {
    %0 = stablehlo.after_all %t : !stablehlo.token
    %1 = stablehlo.negate %a : tensor<8xi32>
    return %1, %0 : tensor<8xi32>, !stablehlo.token
  })");
}

// ---- unreduced values

// Four rows that two devices hold as parts of a sum, and something done with them.
void expect_unreduced(const std::string& type, const std::string& body) {
  expect_same_meaning(kTwoRanks,
                      "(%u: tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {}], "
                      "unreduced={\"x\"}>}, %a: tensor<4x4xi32>) -> " +
                          type + " {\n" + body + "\nreturn %r : " + type + "\n}");
}

TEST(ComplaintsRun, UnreducedValuesGoIntoAnyOp) {
  const std::string square = "tensor<4x4xi32>";
  for (const char* op :
       {"%r = stablehlo.add %u, %a : tensor<4x4xi32>",
        "%r = stablehlo.add %u, %u : tensor<4x4xi32>",
        "%r = stablehlo.multiply %u, %a : tensor<4x4xi32>",
        "%r = stablehlo.multiply %u, %u : tensor<4x4xi32>",
        "%r = stablehlo.maximum %u, %a : tensor<4x4xi32>",
        "%r = stablehlo.transpose %u, dims = [1, 0] : (tensor<4x4xi32>) -> tensor<4x4xi32>",
        "%r = stablehlo.dot_general %u, %a, contracting_dims = [1] x [0] : (tensor<4x4xi32>, "
        "tensor<4x4xi32>) -> tensor<4x4xi32>",
        "%r = stablehlo.dot_general %u, %u, contracting_dims = [1] x [0] : (tensor<4x4xi32>, "
        "tensor<4x4xi32>) -> tensor<4x4xi32>"}) {
    SCOPED_TRACE(op);
    expect_unreduced(square, op);
  }
  expect_unreduced("tensor<16xi32>",
                   "%r = stablehlo.reshape %u : (tensor<4x4xi32>) -> tensor<16xi32>");
  for (const char* reducer : {"add", "maximum"}) {
    SCOPED_TRACE(reducer);
    expect_unreduced("tensor<4xi32>", std::string("%z = stablehlo.constant dense<0> : tensor<i32>\n"
                                                  "%r = stablehlo.reduce(%u init: %z) applies "
                                                  "stablehlo.") +
                                          reducer +
                                          " across dimensions = [0] : (tensor<4x4xi32>, "
                                          "tensor<i32>) -> tensor<4xi32>");
  }
}

TEST(ComplaintsRun, AnUnreducedValueIsCarriedThroughALoop) {
  for (const char* step : {"%s = stablehlo.add %c, %a : tensor<4x4xi32>",
                           "%s = stablehlo.multiply %c, %a : tensor<4x4xi32>"}) {
    SCOPED_TRACE(step);
    expect_unreduced("tensor<4x4xi32>", std::string(R"(
    %z = stablehlo.constant dense<0> : tensor<i32>
    %n = stablehlo.constant dense<3> : tensor<i32>
    %one = stablehlo.constant dense<1> : tensor<i32>
    %l:2 = stablehlo.while(%i = %z, %c = %u) : tensor<i32>, tensor<4x4xi32>
    cond {
      %p = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %p : tensor<i1>
    } do {
      )") + step + R"(
      %j = stablehlo.add %i, %one : tensor<i32>
      stablehlo.return %j, %s : tensor<i32>, tensor<4x4xi32>
    }
    %r = stablehlo.negate %l#1 : tensor<4x4xi32>)");
  }
}

// ---- scatter

TEST(ComplaintsRun, AScatterOfShardedUpdatesIntoAShardedTable) {
  expect_same_meaning(kFour, R"((
      %t: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}, %i: tensor<8x1xi32>,
      %u: tensor<8x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {}]>}) -> tensor<8x8xi32> {
    %0 = "stablehlo.scatter"(%t, %i, %u) <{indices_are_sorted = false, scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>, unique_indices = false}> ({
    ^bb0(%p: tensor<i32>, %q: tensor<i32>):
      %s = stablehlo.add %p, %q : tensor<i32>
      stablehlo.return %s : tensor<i32>
    }) : (tensor<8x8xi32>, tensor<8x1xi32>, tensor<8x8xi32>) -> tensor<8x8xi32>
    return %0 : tensor<8x8xi32>
  })");
}

// ---- manual computations

TEST(ComplaintsRun, AManualComputationInABranch) {
  expect_same_meaning(R"("x"=2, "y"=2)", R"((%p: tensor<i1>,
      %a: tensor<4x4xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) -> tensor<4x4xi32> {
    %0 = "stablehlo.if"(%p) ({
      %1 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {}]>] out_shardings=[<@mesh, [{"x"}, {}]>] manual_axes={"x"} (%b: tensor<2x4xi32>) {
        %2 = stablehlo.dot_general %b, %b, contracting_dims = [0] x [0] : (tensor<2x4xi32>, tensor<2x4xi32>) -> tensor<4x4xi32>
        %3 = "stablehlo.all_reduce"(%2) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
        ^bb0(%c: tensor<i32>, %d: tensor<i32>):
          %s = stablehlo.add %c, %d : tensor<i32>
          stablehlo.return %s : tensor<i32>
        }) : (tensor<4x4xi32>) -> tensor<4x4xi32>
        %4 = stablehlo.slice %3 [0:2, 0:4] : (tensor<4x4xi32>) -> tensor<2x4xi32>
        %5 = stablehlo.add %4, %b : tensor<2x4xi32>
        sdy.return %5 : tensor<2x4xi32>
      } : (tensor<4x4xi32>) -> tensor<4x4xi32>
      stablehlo.return %1 : tensor<4x4xi32>
    }, {
      stablehlo.return %a : tensor<4x4xi32>
    }) : (tensor<i1>) -> tensor<4x4xi32>
    return %0 : tensor<4x4xi32>
  })");
}

TEST(ComplaintsRun, APartlyManualComputationGathersOverItsOwnAxisOfOne) {
  expect_same_meaning(R"("x"=1, "y"=4)", R"((
      %a: tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {"y"}]>}) ->
      (tensor<4x8xi32> {sdy.sharding = #sdy.sharding<@mesh, [{}, {"y"}]>}) {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}, {"y"}]>] out_shardings=[<@mesh, [{}, {"y"}]>] manual_axes={"x"} (%b: tensor<4x8xi32>) {
      %1 = "stablehlo.all_gather"(%b) <{all_gather_dim = 0 : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0], [1], [2], [3]]> : tensor<4x1xi64>, use_global_device_ids}> : (tensor<4x8xi32>) -> tensor<4x8xi32>
      sdy.return %1 : tensor<4x8xi32>
    } : (tensor<4x8xi32>) -> tensor<4x8xi32>
    return %0 : tensor<4x8xi32>
  })");
}

TEST(ComplaintsRun, AReduceScatterInTwoGroupsOfEveryOther) {
  const auto scatter = [](const char* dim, const char* local, const char* global) {
    return std::string(R"((%a: tensor<8x3xi32>) -> tensor<)") + global + R"(xi32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{}, {}]>] out_shardings=[<@mesh, [{"y", "x"}, {}]>] manual_axes={"x", "y"} (%b: tensor<8x3xi32>) {
      %i = stablehlo.partition_id : tensor<ui32>
      %j = stablehlo.convert %i : (tensor<ui32>) -> tensor<i32>
      %k = stablehlo.broadcast_in_dim %j, dims = [] : (tensor<i32>) -> tensor<8x3xi32>
      %c = stablehlo.add %b, %k : tensor<8x3xi32>
      %t = stablehlo.transpose %c, dims = [1, 0] : (tensor<8x3xi32>) -> tensor<3x8xi32>
      %1 = "stablehlo.reduce_scatter"()" +
           (dim[0] == '0' ? "%c" : "%t") + R"() <{scatter_dimension = )" + dim +
           R"( : i64, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 2], [1, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<i32>, %q: tensor<i32>):
        %s = stablehlo.add %p, %q : tensor<i32>
        stablehlo.return %s : tensor<i32>
      }) : (tensor<)" +
           (dim[0] == '0' ? "8x3" : "3x8") + "xi32>) -> tensor<" + local + R"(xi32>
      sdy.return %1 : tensor<)" +
           local + R"(xi32>
    } : (tensor<8x3xi32>) -> tensor<)" +
           global + R"(xi32>
    return %0 : tensor<)" +
           global + "xi32>\n}";
  };
  expect_same_meaning(R"("x"=2, "y"=2)", scatter("0", "4x3", "16x3"));
  expect_same_meaning(R"("x"=2, "y"=2)", scatter("1", "3x4", "12x4"));
}

TEST(ComplaintsRun, APartitionNumberInABranchOfAManualComputation) {
  expect_same_meaning(kFour, R"((%p: tensor<i1>) -> tensor<4xi32> {
    %0 = sdy.manual_computation(%p) in_shardings=[<@mesh, []>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%q: tensor<i1>) {
      %1 = "stablehlo.if"(%q) ({
        %2 = stablehlo.partition_id : tensor<ui32>
        stablehlo.return %2 : tensor<ui32>
      }, {
        %3 = stablehlo.constant dense<7> : tensor<ui32>
        stablehlo.return %3 : tensor<ui32>
      }) : (tensor<i1>) -> tensor<ui32>
      %4 = stablehlo.convert %1 : (tensor<ui32>) -> tensor<i32>
      %5 = stablehlo.reshape %4 : (tensor<i32>) -> tensor<1xi32>
      sdy.return %5 : tensor<1xi32>
    } : (tensor<i1>) -> tensor<4xi32>
    return %0 : tensor<4xi32>
  })");
}

}  // namespace
}  // namespace spmd::testing
