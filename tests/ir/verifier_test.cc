#include "ir/verifier.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "support/error.h"

namespace spmd {
namespace {

std::string error_of(const std::string& text) {
  try {
    verify(parse_stablehlo(text, "m.mlir"));
  } catch (const UserError& error) {
    return error.what();
  }
  return "";
}

std::string scatter(const std::string& numbers, const std::string& indices = "tensor<3x1xi32>") {
  return R"(module @m {
  func.func public @main(%a: tensor<8x4xf32>, %i: )" +
         indices + R"(, %u: tensor<3x4xf32>) -> tensor<8x4xf32> {
    %0 = "stablehlo.scatter"(%a, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<)" +
         numbers + R"(>}> ({
    ^bb0(%p: tensor<f32>, %q: tensor<f32>):
      %1 = stablehlo.add %p, %q : tensor<f32>
      stablehlo.return %1 : tensor<f32>
    }) : (tensor<8x4xf32>, )" +
         indices + R"(, tensor<3x4xf32>) -> tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
})";
}

constexpr const char* kRows =
    "update_window_dims = [1], inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], "
    "index_vector_dim = 1";

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(Verifier, ScatterDimensionNumbers) {
  EXPECT_EQ(error_of(scatter(kRows)), "");
  const auto rejects = [](const std::string& numbers, const std::string& fact) {
    EXPECT_NE(error_of(scatter(numbers)).find(fact), std::string::npos)
        << error_of(scatter(numbers));
  };
  rejects(with(kRows, "inserted_window_dims = [0]", "inserted_window_dims = [6]"),
          "inserted or batching dimension 6 is out of range for rank 2");
  rejects(with(kRows, "update_window_dims = [1]", "update_window_dims = [-1]"),
          "update window dimension -1 is out of range for rank 2");
  rejects(with(kRows, "operand_dims = [0]", "operand_dims = [5]"),
          "scatter_dims_to_operand_dims entry 5 is out of range for rank 2");
  rejects(with(kRows, "operand_dims = [0]", "operand_dims = []"),
          "index vectors of 1 components, expected 0");
  rejects(with(kRows, "index_vector_dim = 1", "index_vector_dim = 4"),
          "index_vector_dim is out of range");
  EXPECT_NE(error_of(scatter(kRows, "tensor<3x1xf32>")).find("indices are not integers"),
            std::string::npos);
}

std::string manual(const std::string& inside) {
  return R"(module @m {
  sdy.mesh @mesh = <["x"=4]>
  func.func public @main(%a: tensor<16xf32>) -> tensor<16xf32> {
    %0 = sdy.manual_computation(%a) in_shardings=[<@mesh, [{"x"}]>] out_shardings=[<@mesh, [{"x"}]>] manual_axes={"x"} (%b: tensor<)" +
         inside + R"(xf32>) {
      sdy.return %b : tensor<)" +
         inside + R"(xf32>
    } : (tensor<16xf32>) -> tensor<16xf32>
    return %0 : tensor<16xf32>
  }
})";
}

TEST(Verifier, ManualComputationsHoldTheShardsOfTheirOperands) {
  EXPECT_EQ(error_of(manual("4")), "");
  EXPECT_NE(error_of(manual("7"))
                .find("tensor<16xf32> is tensor<7xf32> inside, expected "
                      "tensor<4xf32>"),
            std::string::npos)
      << error_of(manual("7"));
}

}  // namespace
}  // namespace spmd
