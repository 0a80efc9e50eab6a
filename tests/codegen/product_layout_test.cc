// Products in the order in which they are read: how they lie, and that they mean the same.
#include "codegen/product_layout.h"

#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

using Strides = std::vector<int64_t>;

// The strides of the first product's result; checks that the program's plan means the same.
Strides strides_of_product(const Module& module) {
  const plan::Plan plan = gpu_plan_of(module);
  expect_meaning_of(plan, module);
  for (const plan::Step& step : plan.programs(0).body().steps())
    if (step.has_dot())
      return {step.dot().out().strides().begin(), step.dot().out().strides().end()};
  return {};
}

constexpr const char* kProduct =
    "    %p = stablehlo.dot_general %y, %x, contracting_dims = [0] x [0] : (tensor<8x6xf32>, "
    "tensor<8x10xf32>) -> tensor<6x10xf32>\n"
    "    %t = stablehlo.transpose %p, dims = [1, 0] : (tensor<6x10xf32>) -> tensor<10x6xf32>\n";

// A gradient beside its weight: rows of the product's transpose.
TEST(ProductLayout, AsTheOptimizerReadsIt) {
  EXPECT_EQ(strides_of_product(module_of(
                "(%x: tensor<8x10xf32>, %y: tensor<8x6xf32>, %w: tensor<10x6xf32>) -> "
                "tensor<10x6xf32>",
                std::string(kProduct) + "    %s = stablehlo.multiply %t, %t : tensor<10x6xf32>\n"
                                        "    %r = stablehlo.subtract %w, %s : tensor<10x6xf32>\n"
                                        "    return %r : tensor<10x6xf32>")),
            (Strides{1, 6}));
}

// A slice of it may be read besides, not a reshape across its rows.
TEST(ProductLayout, WhereAllReadersCan) {
  const auto program = [](const std::string& other, const std::string& type) {
    return module_of(
        "(%x: tensor<8x10xf32>, %y: tensor<8x6xf32>, %w: tensor<10x6xf32>) -> (tensor<10x6xf32>, " +
            type + ")",
        std::string(kProduct) + "    %s = stablehlo.multiply %t, %w : tensor<10x6xf32>\n" + other +
            "    %e = stablehlo.exponential %o : " + type +
            "\n    return %s, %e : " + "tensor<10x6xf32>, " + type);
  };
  EXPECT_EQ(
      strides_of_product(program("    %o = stablehlo.slice %p [0:6, 0:4] : (tensor<6x10xf32>) -> "
                                 "tensor<6x4xf32>\n",
                                 "tensor<6x4xf32>")),
      (Strides{1, 6}));
  EXPECT_EQ(strides_of_product(
                program("    %o = stablehlo.reshape %p : (tensor<6x10xf32>) -> tensor<4x15xf32>\n",
                        "tensor<4x15xf32>")),
            (Strides{10, 1}));
}

// Another product may read it as well as it lies.
TEST(ProductLayout, NotWhatAProductReads) {
  EXPECT_EQ(strides_of_product(module_of(
                "(%x: tensor<8x10xf32>, %y: tensor<8x6xf32>, %w: tensor<10x6xf32>) -> "
                "(tensor<10x6xf32>, tensor<6x6xf32>)",
                std::string(kProduct) +
                    "    %s = stablehlo.multiply %t, %w : tensor<10x6xf32>\n"
                    "    %q = stablehlo.dot_general %p, %w, contracting_dims = [1] x [0] : "
                    "(tensor<6x10xf32>, tensor<10x6xf32>) -> tensor<6x6xf32>\n"
                    "    return %s, %q : tensor<10x6xf32>, tensor<6x6xf32>")),
            (Strides{10, 1}));
}

}  // namespace
}  // namespace spmd::testing
