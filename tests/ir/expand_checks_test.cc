// Checks, programs that run on a grid, tokens, random numbers.
#include <cmath>

#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

Module checked(const std::string& body) {
  return parse("func.func @main() {\n" + body + "\n  return\n}\n");
}

TEST(ExpandChecks, CountWhatIsWrong) {
  const Module module = checked(R"(
  %a = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
  check.expect_eq_const %a, dense<[1, 5, 6]> : tensor<3xi32>
  %x = stablehlo.constant dense<[0.0, -0.0, 0x7FC00000, 1.0, 0x7F800000]> : tensor<5xf32>
  %y = stablehlo.constant dense<[-0.0, -0.0, 0xFFC00001, 0x3F800003, 3.0]> : tensor<5xf32>
  check.expect_eq %x, %y : tensor<5xf32>
  check.expect_close %x, %y, max_ulp_difference = 2, min_ulp_difference = 0 : tensor<5xf32>, tensor<5xf32>
  check.expect_almost_eq %x, %y : tensor<5xf32>
  "check.expect_close"(%x, %y) {max_ulp_difference = 3 : ui64} : (tensor<5xf32>, tensor<5xf32>) -> ()
  stablehlo.custom_call @check.expect_close(%x, %x) {has_side_effect = true} : (tensor<5xf32>, tensor<5xf32>) -> ()
  %c = stablehlo.constant dense<[(1.0, 2.0), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  check.expect_eq_const %c, dense<[(1.0, 2.5), (3.0, 4.0)]> : tensor<2xcomplex<f64>>
  %p = stablehlo.constant dense<true> : tensor<i1>
  check.expect_eq_const %p, dense<true> : tensor<i1>)");
  EXPECT_EQ(check_counts(module), (std::vector<int64_t>{2, 3, 2, 1, 1, 0, 1, 0}));
  EXPECT_EQ(module.main().result_info[0].name, "check.expect_eq_const at test.mlir:4");
}

// Distances between floats in units in the last place, across zero, and infinities.
TEST(ExpandChecks, UlpDistances) {
  EXPECT_EQ(check_counts(checked(R"(
  %a = stablehlo.constant dense<[0x00000001, 0x80000001, 1.0, -0.0]> : tensor<4xf32>
  %b = stablehlo.constant dense<[0x80000001, 0x00000001, 0x3F800002, 0x00000002]> : tensor<4xf32>
  check.expect_close %a, %b, max_ulp_difference = 2, min_ulp_difference = 2 : tensor<4xf32>, tensor<4xf32>
  %i = stablehlo.constant dense<[0x7F800000, 0xFF800000, 0x7F800000]> : tensor<3xf32>
  %j = stablehlo.constant dense<[0x7F7FFFFF, 0x7F800000, 0x7FC00000]> : tensor<3xf32>
  check.expect_close %i, %j, max_ulp_difference = 18446744073709551615, min_ulp_difference = 18446744073709551615 : tensor<3xf32>, tensor<3xf32>
  check.expect_close %i, %i, max_ulp_difference = 0 : tensor<3xf32>, tensor<3xf32>)")),
            (std::vector<int64_t>{0, 1, 0}));
}

TEST(ExpandChecks, InFunctionsThatAreCalled) {
  const Module module = parse(R"(
module {
  func.func @main() -> tensor<i32> {
    %0 = call @f() : () -> tensor<i32>
    %1 = call @f() : () -> tensor<i32>
    return %1 : tensor<i32>
  }
  func.func private @f() -> tensor<i32> {
    %0 = stablehlo.constant dense<4> : tensor<i32>
    check.expect_eq_const %0, dense<5> : tensor<i32>
    return %0 : tensor<i32>
  }
})");
  EXPECT_EQ(check_counts(module), (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(error_of([] {
              checked(R"(
  %p = stablehlo.constant dense<true> : tensor<i1>
  "stablehlo.if"(%p) ({
    check.expect_eq_const %p, dense<true> : tensor<i1>
    stablehlo.return
  }, {
    stablehlo.return
  }) : (tensor<i1>) -> ())");
            }),
            "test.mlir:5: check.expect_eq_const: a check inside of a loop, branch or region\n"
            "  return the value from there, and check it outside");
}

// The specification's examples of collectives, as its interpreter's tests write them.
TEST(ExpandRunParallel, CrossReplicaAllReduce) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[1, 2, 3, 4]> : tensor<4xi64>
    %b = stablehlo.constant dense<[5, 6, 7, 8]> : tensor<4xi64>
    %r:2 = "interpreter.run_parallel"(%a, %b) {programs = [[@all_reduce], [@all_reduce]]} : (tensor<4xi64>, tensor<4xi64>) -> (tensor<4xi64>, tensor<4xi64>)
    check.expect_eq_const %r#0, dense<[6, 8, 10, 12]> : tensor<4xi64>
    check.expect_eq_const %r#1, dense<[6, 8, 10, 12]> : tensor<4xi64>)",
                     R"(
  func.func @all_reduce(%x: tensor<4xi64>) -> tensor<4xi64> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%p: tensor<i64>, %q: tensor<i64>):
      %1 = stablehlo.add %p, %q : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) {replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>} : (tensor<4xi64>) -> tensor<4xi64>
    return %0 : tensor<4xi64>
  })");
}

// Two replicas of two partitions, and what group numbers mean in each mode.
TEST(ExpandRunParallel, ModesOfGroups) {
  const std::string call = R"(
    %a = stablehlo.constant dense<1> : tensor<1xi64>
    %b = stablehlo.constant dense<10> : tensor<1xi64>
    %c = stablehlo.constant dense<100> : tensor<1xi64>
    %d = stablehlo.constant dense<1000> : tensor<1xi64>
    %r:4 = "interpreter.run_parallel"(%a, %b, %c, %d) {programs = [[@f, @f], [@f, @f]]} : (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>) -> (tensor<1xi64>, tensor<1xi64>, tensor<1xi64>, tensor<1xi64>))";
  const auto expect = [&](const std::string& attributes, std::vector<int64_t> values) {
    std::string body = call;
    for (size_t i = 0; i < values.size(); ++i) {
      body += "\n    check.expect_eq_const %r#" + std::to_string(i) + ", dense<" +
              std::to_string(values[i]) + "> : tensor<1xi64>";
    }
    expect_checks_hold(body, R"(
  func.func @f(%x: tensor<1xi64>) -> tensor<1xi64> {
    %0 = "stablehlo.all_reduce"(%x) ({
    ^bb0(%p: tensor<i64>, %q: tensor<i64>):
      %1 = stablehlo.add %p, %q : tensor<i64>
      stablehlo.return %1 : tensor<i64>
    }) {)" + attributes + R"(} : (tensor<1xi64>) -> tensor<1xi64>
    return %0 : tensor<1xi64>
  })");
  };
  const std::string channel = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 0>, ";
  expect("replica_groups = dense<[[0, 1]]> : tensor<1x2xi64>", {101, 1010, 101, 1010});
  expect(channel + "replica_groups = dense<[[0], [1]]> : tensor<2x1xi64>", {11, 11, 1100, 1100});
  expect(channel +
             "replica_groups = dense<[[0, 3], [1, 2]]> : tensor<2x2xi64>, "
             "use_global_device_ids",
         {1001, 110, 110, 1001});
}

TEST(ExpandRunParallel, BroadcastPermuteAndIds) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[1, 2]> : tensor<2xi64>
    %b = stablehlo.constant dense<[3, 4]> : tensor<2xi64>
    %c = stablehlo.constant dense<[5, 6]> : tensor<2xi64>
    %r:9 = "interpreter.run_parallel"(%a, %b, %c) {programs = [[@f], [@f], [@f]]} : (tensor<2xi64>, tensor<2xi64>, tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<ui32>, tensor<2xi64>, tensor<2xi64>, tensor<ui32>, tensor<2xi64>, tensor<2xi64>, tensor<ui32>)
    check.expect_eq_const %r#0, dense<0> : tensor<2xi64>
    check.expect_eq_const %r#3, dense<[5, 6]> : tensor<2xi64>
    check.expect_eq_const %r#6, dense<[5, 6]> : tensor<2xi64>
    check.expect_eq_const %r#1, dense<0> : tensor<2xi64>
    check.expect_eq_const %r#4, dense<[1, 2]> : tensor<2xi64>
    check.expect_eq_const %r#7, dense<[3, 4]> : tensor<2xi64>
    check.expect_eq_const %r#2, dense<0> : tensor<ui32>
    check.expect_eq_const %r#8, dense<2> : tensor<ui32>)",
                     R"(
  func.func @f(%x: tensor<2xi64>) -> (tensor<2xi64>, tensor<2xi64>, tensor<ui32>) {
    %0 = "stablehlo.collective_broadcast"(%x) {replica_groups = dense<[[2, 1]]> : tensor<1x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
    %1 = "stablehlo.collective_permute"(%x) {source_target_pairs = dense<[[0, 1], [1, 2]]> : tensor<2x2xi64>} : (tensor<2xi64>) -> tensor<2xi64>
    %2 = stablehlo.replica_id : tensor<ui32>
    return %0, %1, %2 : tensor<2xi64>, tensor<2xi64>, tensor<ui32>
  })");
}

TEST(ExpandRunParallel, DifferentPrograms) {
  EXPECT_NE(error_of([] {
              parse(R"(
module {
  func.func @f(%x: tensor<i32>) -> tensor<i32> {
    return %x : tensor<i32>
  }
  func.func @g(%x: tensor<i32>) -> tensor<i32> {
    return %x : tensor<i32>
  }
  func.func @main(%x: tensor<i32>) -> tensor<i32> {
    %0:2 = "interpreter.run_parallel"(%x, %x) {programs = [[@f], [@g]]} : (tensor<i32>, tensor<i32>) -> (tensor<i32>, tensor<i32>)
    return %0#1 : tensor<i32>
  }
})");
            }).find("ranks run different programs"),
            std::string::npos);
}

TEST(ExpandTokens, AreEmpty) {
  const Module module = parse(R"(
func.func @main(%t: !stablehlo.token, %x: tensor<f32>) -> (tensor<f32>, !stablehlo.token) {
  %0 = stablehlo.create_token : !stablehlo.token
  %1 = stablehlo.after_all %t, %0 : !stablehlo.token
  %2 = "stablehlo.after_all"() : () -> !stablehlo.token
  %3:2 = stablehlo.optimization_barrier %x, %1 : tensor<f32>, !stablehlo.token
  return %3#0, %3#1 : tensor<f32>, !stablehlo.token
})");
  EXPECT_EQ(to_string(module.main().type(module.main().arguments()[0])), "tensor<0xi1>");
  const std::vector<Literal> arguments = {Literal({DType::kBool, {0}}),
                                          Literal::splat({DType::kF32, {}}, 2.5)};
  EXPECT_EQ(evaluate(module, arguments)[0].as_double(0), 2.5);
}

TEST(ExpandRng, DistributionsAreThose) {
  const Module module = parse(R"(
func.func @main() -> (tensor<4000xf32>, tensor<4000xf64>, tensor<4000xi32>, tensor<4000xf32>) {
  %a = stablehlo.constant dense<-1.0> : tensor<f32>
  %b = stablehlo.constant dense<3.0> : tensor<f32>
  %n = stablehlo.constant dense<4000> : tensor<1xi64>
  %0 = stablehlo.rng %a, %b, %n, distribution =  UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4000xf32>
  %c = stablehlo.constant dense<2.0> : tensor<f64>
  %d = stablehlo.constant dense<0.5> : tensor<f64>
  %1 = "stablehlo.rng"(%c, %d, %n) <{rng_distribution = #stablehlo<rng_distribution NORMAL>}> : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<4000xf64>
  %e = stablehlo.constant dense<-2> : tensor<i32>
  %f = stablehlo.constant dense<3> : tensor<i32>
  %2 = stablehlo.rng %e, %f, %n, distribution = UNIFORM : (tensor<i32>, tensor<i32>, tensor<1xi64>) -> tensor<4000xi32>
  %3 = stablehlo.rng %a, %b, %n, distribution = UNIFORM : (tensor<f32>, tensor<f32>, tensor<1xi64>) -> tensor<4000xf32>
  return %0, %1, %2, %3 : tensor<4000xf32>, tensor<4000xf64>, tensor<4000xi32>, tensor<4000xf32>
})");
  const std::vector<Literal> results = evaluate(module, {});
  const auto moments = [](const Literal& x) {
    double mean = 0, square = 0;
    const auto n = static_cast<double>(x.type().num_elements());
    for (int64_t i = 0; i < x.type().num_elements(); ++i) mean += x.as_double(i) / n;
    for (int64_t i = 0; i < x.type().num_elements(); ++i) {
      square += (x.as_double(i) - mean) * (x.as_double(i) - mean) / n;
    }
    return std::pair(mean, std::sqrt(square));
  };
  const auto [uniform_mean, uniform_deviation] = moments(results[0]);
  EXPECT_NEAR(uniform_mean, 1, 0.08);
  EXPECT_NEAR(uniform_deviation, 4 / std::sqrt(12.0), 0.05);
  const auto [normal_mean, normal_deviation] = moments(results[1]);
  EXPECT_NEAR(normal_mean, 2, 0.04);
  EXPECT_NEAR(normal_deviation, 0.5, 0.03);
  const auto [integer_mean, integer_deviation] = moments(results[2]);
  EXPECT_NEAR(integer_mean, 0, 0.1);
  EXPECT_NEAR(integer_deviation, std::sqrt(2.0), 0.08);
  for (int64_t i = 0; i < 4000; ++i) {
    EXPECT_GE(results[0].as_double(i), -1);
    EXPECT_LT(results[0].as_double(i), 3);
    EXPECT_GE(results[2].as_int(i), -2);
    EXPECT_LT(results[2].as_int(i), 3);
  }
  EXPECT_FALSE(results[0] == results[3]);  // two ops draw different numbers
}

}  // namespace
}  // namespace spmd::testing
