#include "passes/check_uniformity.h"

#include "passes/compile.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"
#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

// A manual computation over x and y, four devices, that is given as `body` from %b to %r.
Module manual(const std::string& body) {
  return sharded_program("\"x\"=2, \"y\"=2", R"((
      %a: tensor<8xf32>, %p: tensor<i1>) -> tensor<8xf32> {
    %0 = sdy.manual_computation(%a, %p) in_shardings=[<@mesh, [{"x", "y"}]>, <@mesh, []>] out_shardings=[<@mesh, [{"x", "y"}]>] manual_axes={"x", "y"} (%b: tensor<2xf32>, %q: tensor<i1>) {
      %id = stablehlo.partition_id : tensor<ui32>
      %one = stablehlo.constant dense<1> : tensor<ui32>
      )" + body + R"(
      sdy.return %r : tensor<2xf32>
    } : (tensor<8xf32>, tensor<i1>) -> tensor<8xf32>
    return %0 : tensor<8xf32>
  })");
}

// A branch that is taken if `condition`, and sums over the second axis there.
std::string branch(const std::string& condition) {
  return condition + R"(
      %r = "stablehlo.if"(%c) ({
        %s = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, use_global_device_ids}> ({
        ^bb0(%u: tensor<f32>, %v: tensor<f32>):
          %w = stablehlo.add %u, %v : tensor<f32>
          stablehlo.return %w : tensor<f32>
        }) : (tensor<2xf32>) -> tensor<2xf32>
        stablehlo.return %s : tensor<2xf32>
      }, {
        stablehlo.return %b : tensor<2xf32>
      }) : (tensor<i1>) -> tensor<2xf32>)";
}

const std::string kIsSecond =
    "%c = stablehlo.compare EQ, %id, %one, UNSIGNED : (tensor<ui32>, "
    "tensor<ui32>) -> tensor<i1>";

TEST(CheckUniformity, ACollectiveInABranchThatNotAllDevicesTakeIsRefused) {
  const std::string message = error_of([] { partition(manual(branch(kIsSecond))); });
  EXPECT_NE(message.find("stablehlo.all_reduce"), message.npos) << message;
  EXPECT_NE(message.find("a collective among devices along y, in a branch or loop whose condition "
                         "depends on the device's number"),
            message.npos)
      << message;
  EXPECT_NE(message.find("move it out of the branch"), message.npos) << message;
}

TEST(CheckUniformity, ACollectiveInALoopThatEndsElsewhereIsRefused) {
  const std::string loop = R"(
      %zero = stablehlo.constant dense<0> : tensor<ui32>
      %l:2 = stablehlo.while(%i = %zero, %h = %b) : tensor<ui32>, tensor<2xf32>
      cond {
        %c = stablehlo.compare LT, %i, %id, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %s = "stablehlo.collective_permute"(%h) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
        %j = stablehlo.add %i, %one : tensor<ui32>
        stablehlo.return %j, %s : tensor<ui32>, tensor<2xf32>
      }
      %r = stablehlo.negate %l#1 : tensor<2xf32>)";
  const std::string message = error_of([&] { partition(manual(loop)); });
  EXPECT_NE(message.find("stablehlo.collective_permute"), message.npos) << message;
}

TEST(CheckUniformity, WhatAllMembersOfAGroupDoAlikeIsTaken) {
  // The condition is data; or the number along an axis that the group does not span; or a loop
  // carries the number and counts its trips without it.
  const std::string counted = R"(
      %zero = stablehlo.constant dense<0> : tensor<ui32>
      %l:3 = stablehlo.while(%i = %zero, %n = %id, %h = %b) : tensor<ui32>, tensor<ui32>, tensor<2xf32>
      cond {
        %c = stablehlo.compare LT, %i, %one, UNSIGNED : (tensor<ui32>, tensor<ui32>) -> tensor<i1>
        stablehlo.return %c : tensor<i1>
      } do {
        %s = "stablehlo.collective_permute"(%h) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, source_target_pairs = dense<[[0, 1], [1, 0]]> : tensor<2x2xi64>}> : (tensor<2xf32>) -> tensor<2xf32>
        %j = stablehlo.add %i, %one : tensor<ui32>
        %m = stablehlo.add %n, %one : tensor<ui32>
        stablehlo.return %j, %m, %s : tensor<ui32>, tensor<ui32>, tensor<2xf32>
      }
      %r = stablehlo.negate %l#2 : tensor<2xf32>)";
  const std::string computing = kIsSecond + R"(
      %r = "stablehlo.if"(%c) ({
        %s = stablehlo.negate %b : tensor<2xf32>
        stablehlo.return %s : tensor<2xf32>
      }, {
        stablehlo.return %b : tensor<2xf32>
      }) : (tensor<i1>) -> tensor<2xf32>)";
  const std::string data = branch("%c = stablehlo.not %q : tensor<i1>");
  for (const std::string& body : {counted, computing, data}) {
    EXPECT_EQ(error_of([&] { partition(manual(body)); }), "no error") << body;
  }
}

TEST(CheckUniformity, APartitionNumberOfAGlobalProgramIsRefused) {
  const std::string message = error_of([] {
    partition(sharded_program("\"x\"=4", R"((%p: tensor<i1>) -> tensor<ui32> {
    %0 = "stablehlo.if"(%p) ({
      %1 = stablehlo.partition_id : tensor<ui32>
      stablehlo.return %1 : tensor<ui32>
    }, {
      %2 = stablehlo.constant dense<7> : tensor<ui32>
      stablehlo.return %2 : tensor<ui32>
    }) : (tensor<i1>) -> tensor<ui32>
    return %0 : tensor<ui32>
  })"));
  });
  EXPECT_NE(message.find("stablehlo.partition_id"), message.npos) << message;
  EXPECT_NE(message.find("on global values a program has no partition number\n"), message.npos)
      << message;
}

}  // namespace
}  // namespace spmd::testing
