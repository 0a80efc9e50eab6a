#include <gtest/gtest.h>

#include "frontends/frontend.h"

namespace spmd {
namespace {

// A step without out_shardings: JAX marks donors and names no partners.
constexpr const char* kDonors = R"(module @step {
  func.func public @main(%arg0: tensor<i32> {jax.buffer_donor = true}, %arg1: tensor<4xf32> {jax.buffer_donor = true}, %arg2: tensor<4xf32> {jax.buffer_donor = true}, %arg3: tensor<4xf32>) -> (tensor<i32> {jax.result_info = "result[0]['n']"}, tensor<4xf32> {jax.result_info = "result[0]['v']"}, tensor<4xf32> {jax.result_info = "result[0]['w']"}, tensor<f32> {jax.result_info = "result[1]"}) {
    %0 = stablehlo.add %arg1, %arg3 : tensor<4xf32>
    %1 = stablehlo.multiply %arg2, %0 : tensor<4xf32>
    %c = stablehlo.constant dense<0.0> : tensor<f32>
    return %arg0, %0, %1, %c : tensor<i32>, tensor<4xf32>, tensor<4xf32>, tensor<f32>
  }
}
)";

TEST(Donations, DonorsArePairedWithResultsInOrder) {
  const Module module = import_bytes(kDonors, "step.mlir");
  const auto& info = module.main().argument_info;
  EXPECT_EQ(info[0].aliased_result, 0);
  EXPECT_EQ(info[1].aliased_result, 1);
  EXPECT_EQ(info[2].aliased_result, 2);
  EXPECT_EQ(info[3].aliased_result, -1);
  EXPECT_EQ(info[2].name, "result[0]['w']");
}

TEST(Donations, ADonorWithoutAPartnerLeavesTheProgramAlone) {
  std::string text = kDonors;
  const std::string plain = "%arg3: tensor<4xf32>)";
  text.replace(text.find(plain), plain.size(), "%arg3: tensor<4xf32> {jax.buffer_donor = true})");
  const Module module = import_bytes(text, "step.mlir");
  for (const ArgumentInfo& info : module.main().argument_info) {
    EXPECT_EQ(info.aliased_result, -1);
  }
}

}  // namespace
}  // namespace spmd
