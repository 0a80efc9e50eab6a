#include "frontends/hlo_text/import.h"
#include "ir/text.h"
#include "tests/fuzz/read_data.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

constexpr const char* kTrainingStep = R"(#loc1 = loc("w")
module @step attributes {mhlo.num_partitions = 2 : i32, mhlo.num_replicas = 1 : i32} {
  sdy.mesh @mesh = <["x"=2]>
  func.func public @main(%arg0: tensor<4x8xf32> {tf.aliasing_output = 0 : i32, sdy.sharding = #sdy.sharding<@mesh, [{"x"}, {?}]>} loc(#loc1), %arg1: tensor<2x4xf32> {mhlo.sharding = "{replicated}"}) -> (tensor<4x8xf32> {jax.result_info = "result[0]"}, tensor<f32> {jax.result_info = "result[1]['loss']"}) {
    %0 = stablehlo.dot_general %arg1, %arg0, contracting_dims = [1] x [0], precision = [DEFAULT, HIGHEST] : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32> loc("dot"("f.py":3:4))
    %cst = stablehlo.constant dense<0.000000e+00> : tensor<f32>
    %1 = stablehlo.reduce(%0 init: %cst) applies stablehlo.add across dimensions = [0, 1] : (tensor<2x8xf32>, tensor<f32>) -> tensor<f32>
    %2 = stablehlo.broadcast_in_dim %1, dims = [] : (tensor<f32>) -> tensor<4x8xf32>
    %3 = stablehlo.subtract %arg0, %2 {sdy.sharding = #sdy.sharding_per_value<[<@mesh, [{"x"}, {}]>]>} : tensor<4x8xf32>
    %4 = sdy.sharding_constraint %3 <@mesh, [{"x"}, {?}]> : tensor<4x8xf32>
    return %4, %1 : tensor<4x8xf32>, tensor<f32>
  }
}
)";

constexpr const char* kControlFlow = R"(module @m {
  func.func public @main(%arg0: tensor<i32>, %arg1: tensor<3xf32>) -> (tensor<i32>, tensor<3xf32>) {
    %c = stablehlo.constant dense<5> : tensor<i32>
    %0:2 = stablehlo.while(%iterArg = %arg0, %iterArg_0 = %arg1) : tensor<i32>, tensor<3xf32>
     cond {
      %4 = stablehlo.compare LT, %iterArg, %c, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %4 : tensor<i1>
    } do {
      %c_1 = stablehlo.constant dense<1> : tensor<i32>
      %4 = stablehlo.add %iterArg, %c_1 : tensor<i32>
      %5 = func.call @f(%iterArg_0) : (tensor<3xf32>) -> tensor<3xf32>
      stablehlo.return %4, %5 : tensor<i32>, tensor<3xf32>
    }
    %1 = "stablehlo.case"(%arg0) ({
      stablehlo.return %arg1 : tensor<3xf32>
    }, {
      stablehlo.return %0#1 : tensor<3xf32>
    }) : (tensor<i32>) -> tensor<3xf32>
    return %0#0, %1 : tensor<i32>, tensor<3xf32>
  }
  func.func private @f(%arg0: tensor<3xf32>) -> tensor<3xf32> {
    %0 = stablehlo.exponential %arg0 : tensor<3xf32>
    %1:2 = "stablehlo.sort"(%arg0, %0) <{dimension = 0 : i64, is_stable = true}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>, %c: tensor<f32>, %d: tensor<f32>):
      %2 = stablehlo.compare  GT, %a, %b,  TOTALORDER : (tensor<f32>, tensor<f32>) -> tensor<i1>
      stablehlo.return %2 : tensor<i1>
    }) : (tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>)
    return %1#1 : tensor<3xf32>
  }
}
)";

constexpr const char* kLiterals = R"(module {
  func.func @main() -> tensor<2xbf16> {
    %0 = stablehlo.constant dense<[[1, -2], [3, 4]]> : tensor<2x2xi32>
    %1 = stablehlo.constant dense<"0x0000803F000000C0"> : tensor<2xf32>
    %2 = stablehlo.constant dense<[0x7FC00000, -1.5e-3]> : tensor<2xf32>
    %3 = stablehlo.constant dense<(1.0, -2.0)> : tensor<3xcomplex<f32>>
    %4 = stablehlo.constant dense<[true, false]> : tensor<2xi1>
    %5 = stablehlo.constant dense<> : tensor<0x3xi64>
    %6 = stablehlo.constant dense_resource<w> : tensor<2xf32>
    %7 = stablehlo.constant dense<[1.0, 0xFF80]> : tensor<2xbf16>
    return %7 : tensor<2xbf16>
  }
}
{-#
  dialect_resources: {
    builtin: {
      w: "0x040000000000803F00000040"
    }
  }
#-}
)";

constexpr const char* kManual = R"(module @m {
  sdy.mesh @mesh = <["a"=2, "b"=2], device_ids=[0, 2, 1, 3]>
  func.func @main(%arg0: tensor<8x4xf32>) -> tensor<8x4xf32> {
    %0 = sdy.manual_computation(%arg0) in_shardings=[<@mesh, [{"a"}, {}]>] out_shardings=[<@mesh, [{"a"}, {}], replicated={"b"}>] manual_axes={"a"} (%arg1: tensor<4x4xf32>) {
      %1 = "stablehlo.all_reduce"(%arg1) <{replica_groups = dense<[[0, 1], [2, 3]]> : tensor<2x2xi64>, channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids}> ({
      ^bb0(%arg2: tensor<f32>, %arg3: tensor<f32>):
        %2 = stablehlo.add %arg2, %arg3 : tensor<f32>
        stablehlo.return %2 : tensor<f32>
      }) : (tensor<4x4xf32>) -> tensor<4x4xf32>
      sdy.return %1 : tensor<4x4xf32>
    } : (tensor<8x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}
)";

std::string printed(const char* hlo_text) {
  const std::string name = std::string("hlo_text/") + hlo_text + ".hlo.txt";
  return print_stablehlo(import_hlo_text(read_data(name), name), {.locations = true});
}

}  // namespace

std::vector<std::string> small_modules() {
  return {kTrainingStep, kControlFlow, kLiterals, kManual};
}

std::vector<std::string> seed_modules() {
  std::vector<std::string> modules = small_modules();
  modules.push_back(printed("spellings"));  // nearly every op
  modules.push_back(printed("named_shardings"));
  return modules;
}

}  // namespace spmd::testing
