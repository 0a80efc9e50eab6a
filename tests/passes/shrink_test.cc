#include "passes/shrink/shrink.h"

#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/shrink/well_defined.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

using shrinking::is_well_defined;

// Shrinks as long as an op of that code is left, and returns main's body.
std::string shrunk_to(OpCode code, const Module& module) {
  const Module smallest =
      shrink(module.clone(), [&](const Module& m) { return count_ops(m, code) > 0; });
  verify(smallest);
  return body_of(smallest);
}

TEST(Shrink, LeavesTheOpThatMatters) {
  EXPECT_EQ(shrunk_to(OpCode::kTanh, program({"tensor<8x128xbf16>", "tensor<128x64xbf16>"}, R"(
    %0 = stablehlo.dot_general %x0, %x1, contracting_dims = [1] x [0] : (tensor<8x128xbf16>, tensor<128x64xbf16>) -> tensor<8x64xbf16>
    %1 = stablehlo.tanh %0 : tensor<8x64xbf16>
    %2 = stablehlo.add %1, %0 : tensor<8x64xbf16>
    %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<8x64xbf16>) -> tensor<64x8xbf16>
    return %3, %0 : tensor<64x8xbf16>, tensor<8x64xbf16>)")),
            "%0 = stablehlo.tanh %arg0 : tensor<1x1xf32>\n"
            "return %0 : tensor<1x1xf32>\n");
}

TEST(Shrink, OpensLoopsBranchesAndCalls) {
  const Module module = program(R"(module @test {
  func.func public @main(%x: tensor<4xf32>, %p: tensor<i1>) -> tensor<4xf32> {
    %zero = stablehlo.constant dense<0> : tensor<i32>
    %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<4xf32>
     cond {
      %c = stablehlo.constant dense<3> : tensor<i32>
      %t = stablehlo.compare LT, %i, %c : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %t : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %n = stablehlo.add %i, %one : tensor<i32>
      %w = "stablehlo.if"(%p) ({
        %a = func.call @inner(%v) : (tensor<4xf32>) -> tensor<4xf32>
        stablehlo.return %a : tensor<4xf32>
      }, {
        stablehlo.return %v : tensor<4xf32>
      }) : (tensor<i1>) -> tensor<4xf32>
      stablehlo.return %n, %w : tensor<i32>, tensor<4xf32>
    }
    return %0#1 : tensor<4xf32>
  }
  func.func private @inner(%x: tensor<4xf32>) -> tensor<4xf32> {
    %0 = stablehlo.cosine %x : tensor<4xf32>
    return %0 : tensor<4xf32>
  }
})");
  // Calls are opened first, so that what they hide can be seen.
  const Module smallest = shrink(module.clone(), [](const Module& m) {
    for (const auto& fn : m.functions()) {
      bool found = false;
      walk(*fn, [&](OpId id) { found = found || fn->op(id).code == OpCode::kCosine; });
      if (found) return true;
    }
    return false;
  });
  EXPECT_EQ(body_of(smallest),
            "%0 = stablehlo.cosine %arg0 : tensor<1xf32>\nreturn %0 : tensor<1xf32>\n");
  EXPECT_EQ(smallest.functions().size(), 1u);
}

TEST(Shrink, TakesAwayShardingsAndAxesThatDoNotMatter) {
  const Module module = program(R"(module @test {
  sdy.mesh @mesh = <["x"=4, "y"=2, "z"=3], device_ids=[1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23]>
  func.func public @main(%a: tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"x", ?}p1, {"y"}], replicated={"z"}>, tf.aliasing_output = 0 : i32}) -> (tensor<8x6xf32> {sdy.sharding = #sdy.sharding<@mesh, [{"y"}, {}]>}) {
    %0 = stablehlo.negate %a : tensor<8x6xf32>
    return %0 : tensor<8x6xf32>
  }
})");
  // The first dimension of an argument is cut.
  const Module smallest = shrink(module.clone(), [](const Module& m) {
    const Function& fn = m.main();
    if (fn.arguments().empty()) return false;
    const ShardingRef& sharding = fn.value(fn.arguments()[0]).sharding;
    return sharding && sharding->rank() > 0 && num_shards(*sharding, 0, m.mesh) > 1;
  });
  EXPECT_EQ(smallest.mesh.to_string(), "x=2");
  EXPECT_TRUE(smallest.mesh.device_ids().empty());
  const Function& fn = smallest.main();
  EXPECT_EQ(fn.value(fn.arguments()[0]).sharding->to_string(smallest.mesh), R"([{"x"}, {}])");
  EXPECT_EQ(fn.argument_info[0].aliased_result, -1);
  EXPECT_EQ(fn.result_info[0].sharding, nullptr);
}

TEST(Shrink, OfManyOpsTakesFewAttempts) {
  std::string body = "%v0 = stablehlo.negate %x0 : tensor<4xf32>\n";
  for (int i = 1; i <= 512; ++i) {
    body += "%v" + std::to_string(i) + " = stablehlo." + (i == 300 ? "sine" : "add") + " %v" +
            std::to_string(i - 1) + (i == 300 ? "" : ", %x0") + " : tensor<4xf32>\n";
  }
  body += "return %v512 : tensor<4xf32>";
  int attempts = 0;
  const Module smallest = shrink(program({"tensor<4xf32>"}, body), [&](const Module& m) {
    ++attempts;
    return count_ops(m, OpCode::kSine) > 0;
  });
  EXPECT_EQ(body_of(smallest),
            "%0 = stablehlo.sine %arg0 : tensor<1xf32>\n"
            "return %0 : tensor<1xf32>\n");
  EXPECT_LT(attempts, 80);
}

TEST(Shrink, StopsWhenAsked) {
  int steps = 0;
  ShrinkOptions options;
  options.progress = [&](const Module&) { ++steps; };
  options.stop = [&] { return steps >= 1; };
  shrink(
      program({"tensor<4xf32>"}, R"(
    %0 = stablehlo.negate %x0 : tensor<4xf32>
    %1 = stablehlo.tanh %0 : tensor<4xf32>
    %2 = stablehlo.negate %1 : tensor<4xf32>
    return %2, %0 : tensor<4xf32>, tensor<4xf32>)"),
      [](const Module& m) { return count_ops(m, OpCode::kTanh) > 0; }, options);
  EXPECT_EQ(steps, 1);
}

// ---- what manual computations return

Module manual(const std::string& body, const std::string& out = "[{}]") {
  return sharded_program(R"("x"=2, "y"=2)", R"((%a: tensor<4xf32>) -> tensor<)" +
                                                std::string(out == "[{}]" ? "2" : "4") +
                                                R"(xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, )" +
                                                out +
                                                R"(>] manual_axes={"x", "y"} (%b: tensor<2xf32>) {
      )" + body + R"(
    } : (tensor<4xf32>) -> tensor<)" + std::string(out == "[{}]" ? "2" : "4") +
                                                R"(xf32>
    return %0 : tensor<)" + std::string(out == "[{}]" ? "2" : "4") +
                                                R"(xf32>
  })");
}

constexpr const char* kSum =
    R"(%1 = "stablehlo.all_reduce"(%b) <{channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, replica_groups = dense<GROUPS> : tensor<2x2xi64>, use_global_device_ids}> ({
      ^bb0(%p: tensor<f32>, %q: tensor<f32>):
        %2 = stablehlo.add %p, %q : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<2xf32>) -> tensor<2xf32>
      sdy.return %1 : tensor<2xf32>)";

std::string sum_over(const std::string& groups) {
  std::string text = kSum;
  return text.replace(text.find("GROUPS"), 6, groups);
}

TEST(WellDefined, AResultVariesOnlyAlongWhatCutsIt) {
  const std::string as_it_is = "sdy.return %b : tensor<2xf32>";
  EXPECT_FALSE(is_well_defined(manual(as_it_is)));
  EXPECT_TRUE(is_well_defined(manual(as_it_is, R"([{"x"}])")));
  EXPECT_FALSE(is_well_defined(manual(as_it_is, R"([{"y"}])")));
}

TEST(WellDefined, SumsOverAnAxisNoLongerVaryAlongIt) {
  EXPECT_TRUE(is_well_defined(manual(sum_over("[[0, 2], [1, 3]]"))));   // along x
  EXPECT_FALSE(is_well_defined(manual(sum_over("[[0, 1], [2, 3]]"))));  // along y
}

}  // namespace
}  // namespace spmd::testing
