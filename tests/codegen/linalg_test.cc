// Plans of complex numbers, special functions, transforms and matrices against the evaluator, which
// transforms by definition.
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

TEST(LinalgMeaning, ComplexNumbers) {
  expect_meaning(
      module_of("(%a: tensor<3x5xcomplex<f32>>, %b: tensor<3x5xcomplex<f32>>, %r: tensor<3x5xf32>) "
                "-> (tensor<3x5xcomplex<f32>>, tensor<3x5xf32>, tensor<5xcomplex<f32>>, "
                "tensor<3x5xi1>, tensor<3x3xcomplex<f32>>, tensor<3x5xf32>)",
                R"(
    %0 = stablehlo.complex %r, %r : tensor<3x5xcomplex<f32>>
    %1 = stablehlo.multiply %a, %0 : tensor<3x5xcomplex<f32>>
    %2 = stablehlo.exponential %1 : tensor<3x5xcomplex<f32>>
    %3 = stablehlo.power %2, %b : tensor<3x5xcomplex<f32>>
    %4 = stablehlo.abs %a : (tensor<3x5xcomplex<f32>>) -> tensor<3x5xf32>
    %5 = stablehlo.imag %b : (tensor<3x5xcomplex<f32>>) -> tensor<3x5xf32>
    %6 = stablehlo.add %4, %5 : tensor<3x5xf32>
    %z = stablehlo.constant dense<(0.0, 1.0)> : tensor<complex<f32>>
    %7 = stablehlo.reduce(%a init: %z) applies stablehlo.add across dimensions = [0] : (tensor<3x5xcomplex<f32>>, tensor<complex<f32>>) -> tensor<5xcomplex<f32>>
    %8 = stablehlo.compare EQ, %a, %b : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> tensor<3x5xi1>
    %9 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [1] : (tensor<3x5xcomplex<f32>>, tensor<3x5xcomplex<f32>>) -> tensor<3x3xcomplex<f32>>
    %10 = stablehlo.real %r : (tensor<3x5xf32>) -> tensor<3x5xf32>
    return %2, %6, %7, %8, %9, %10 : tensor<3x5xcomplex<f32>>, tensor<3x5xf32>, tensor<5xcomplex<f32>>, tensor<3x5xi1>, tensor<3x3xcomplex<f32>>, tensor<3x5xf32>)"),
      1e-5);
}

TEST(LinalgMeaning, SpecialFunctions) {
  std::string body, results, types;
  int next = 0;
  const auto add = [&](const std::string& line, const std::string& type) {
    body += "    %" + std::to_string(next) + " = " + line + "\n";
    results += (next == 0 ? "%" : ", %") + std::to_string(next);
    ++next;
    types += (types.empty() ? "" : ", ") + type;
  };
  for (const char* name : {"acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh",
                           "digamma", "erf_inv", "erfc", "lgamma", "sinh"}) {
    for (const char* type : {"tensor<7xf32>", "tensor<7xf64>", "tensor<7xbf16>"}) {
      const std::string operand = std::string(" %") + type[9] + type[10];  // "%f3" of "<7xf32>"
      add(std::string("chlo.") + name + operand + " : " + type + " -> " + type, type);
    }
  }
  for (const char* name : {"polygamma", "zeta"}) {
    add(std::string("chlo.") + name + " %f3, %f3 : tensor<7xf32>, tensor<7xf32> -> tensor<7xf32>",
        "tensor<7xf32>");
  }
  expect_meaning(
      module_of("(%f3: tensor<7xf32>, %f6: tensor<7xf64>, %bf: tensor<7xbf16>) -> (" + types + ")",
                body + "    return " + results + " : " + types),
      1e-6);
}

TEST(LinalgMeaning, TransformsOfManyLengths) {
  // Small factors, a prime above them, one dimension and several, real and complex.
  for (const char* length : {"1", "2", "6", "8", "15", "31", "37", "97", "128"}) {
    const std::string n = length, half = std::to_string(std::stoi(n) / 2 + 1);
    const std::string z = "tensor<3x" + n + "xcomplex<f64>>", x = "tensor<3x" + n + "xf64>",
                      h = "tensor<3x" + half + "xcomplex<f64>>";
    expect_meaning(
        module_of("(%z: " + z + ", %x: " + x + ", %h: " + h + ") -> (" + z + ", " + z + ", " + h +
                      ", " + x + ")",
                  "    %0 = stablehlo.fft %z, type = FFT, length = [" + n + "] : (" + z + ") -> " +
                      z + "\n    %1 = stablehlo.fft %z, type = IFFT, length = [3, " + n + "] : (" +
                      z + ") -> " + z + "\n    %2 = stablehlo.fft %x, type = RFFT, length = [3, " +
                      n + "] : (" + x + ") -> " + h +
                      "\n    %3 = stablehlo.fft %h, type = IRFFT, length = [3, " + n + "] : (" + h +
                      ") -> " + x + "\n    return %0, %1, %2, %3 : " + z + ", " + z + ", " + h +
                      ", " + x),
        1e-12);
  }
}

TEST(LinalgMeaning, TransformsOfViews) {
  expect_meaning(module_of("(%z: tensor<4x3x6xcomplex<f32>>) -> (tensor<6x3x4xcomplex<f32>>, "
                           "tensor<2x3x5xcomplex<f32>>)",
                           R"(
    %0 = stablehlo.transpose %z, dims = [2, 1, 0] : (tensor<4x3x6xcomplex<f32>>) -> tensor<6x3x4xcomplex<f32>>
    %1 = stablehlo.fft %0, type = FFT, length = [3, 4] : (tensor<6x3x4xcomplex<f32>>) -> tensor<6x3x4xcomplex<f32>>
    %2 = stablehlo.slice %z [1:4:2, 0:3, 1:6] : (tensor<4x3x6xcomplex<f32>>) -> tensor<2x3x5xcomplex<f32>>
    %3 = stablehlo.fft %2, type = IFFT, length = [2, 3, 5] : (tensor<2x3x5xcomplex<f32>>) -> tensor<2x3x5xcomplex<f32>>
    return %1, %3 : tensor<6x3x4xcomplex<f32>>, tensor<2x3x5xcomplex<f32>>)"),
                 1e-5);
}

// a a^T + 8 is positive definite.
TEST(LinalgMeaning, Matrices) {
  for (const char* element : {"f32", "f64", "complex<f64>"}) {
    const std::string e = element, m = "tensor<2x4x4x" + e + ">", b = "tensor<2x3x4x" + e + ">";
    std::string body =
        "    %0 = stablehlo.dot_general %a, %a, batching_dims = [0] x [0], contracting_dims = [2] "
        "x [2] : (" +
        m + ", " + m + ") -> " + m + "\n";
    if (e[0] == 'c') {  // the real part, so that it is Hermitian
      body += "    %re = stablehlo.real %0 : (" + m +
              ") -> tensor<2x4x4xf64>\n"
              "    %sq = stablehlo.abs %a : (" +
              m +
              ") -> tensor<2x4x4xf64>\n"
              "    %big = stablehlo.constant dense<64.0> : tensor<2x4x4xf64>\n"
              "    %sum = stablehlo.convert %re : (tensor<2x4x4xf64>) -> " +
              m +
              "\n"
              "    %8 = stablehlo.convert %big : (tensor<2x4x4xf64>) -> " +
              m + "\n";
    } else {
      body += "    %sum = stablehlo.negate %0 : " + m +
              "\n    %8 = stablehlo.constant dense<64.0> : " + m + "\n";
    }
    body +=
        "    %i = stablehlo.iota dim = 1 : tensor<2x4x4xi32>\n"
        "    %j = stablehlo.iota dim = 2 : tensor<2x4x4xi32>\n"
        "    %p = stablehlo.compare EQ, %i, %j : (tensor<2x4x4xi32>, tensor<2x4x4xi32>) -> "
        "tensor<2x4x4xi1>\n"
        "    %s = stablehlo.select %p, %8, %sum : tensor<2x4x4xi1>, " +
        m +
        "\n"
        "    %1 = stablehlo.cholesky %s, lower = true : " +
        m +
        "\n"
        "    %2 = stablehlo.cholesky %s, lower = false : " +
        m +
        "\n"
        "    %3 = \"stablehlo.triangular_solve\"(%1, %b) <{left_side = false, lower = true, "
        "transpose_a = #stablehlo<transpose ADJOINT>, unit_diagonal = false}> : (" +
        m + ", " + b + ") -> " + b +
        "\n"
        "    %t = stablehlo.transpose %b, dims = [0, 2, 1] : (" +
        b + ") -> tensor<2x4x3x" + e +
        ">\n"
        "    %4 = \"stablehlo.triangular_solve\"(%2, %t) <{left_side = true, lower = false, "
        "transpose_a = #stablehlo<transpose NO_TRANSPOSE>, unit_diagonal = true}> : (" +
        m + ", tensor<2x4x3x" + e + ">) -> tensor<2x4x3x" + e +
        ">\n"
        "    return %1, %2, %3, %4 : " +
        m + ", " + m + ", " + b + ", tensor<2x4x3x" + e + ">";
    expect_meaning(module_of("(%a: " + m + ", %b: " + b + ") -> (" + m + ", " + m + ", " + b +
                                 ", tensor<2x4x3x" + e + ">)",
                             body),
                   1e-5);
  }
}

TEST(LinalgMeaning, SmallTypes) {
  std::string body, results, types, arguments;
  int next = 0;
  for (const char* type : {"f8E3M4", "f8E4M3", "f8E4M3B11FNUZ", "f8E4M3FN", "f8E4M3FNUZ", "f8E5M2",
                           "f8E5M2FNUZ", "f6E2M3FN", "f6E3M2FN", "f4E2M1FN", "i2", "i4", "ui4"}) {
    const std::string tensor = std::string("tensor<9x") + type + ">", n = std::to_string(next);
    arguments += (next == 0 ? "%a" : ", %a") + n + ": " + tensor;
    body += "    %x" + n + " = stablehlo.add %a" + n + ", %a" + n + " : " + tensor + "\n    %y" +
            n + " = stablehlo.multiply %x" + n + ", %a" + n + " : " + tensor + "\n    %w" + n +
            " = stablehlo.convert %y" + n + " : (" + tensor + ") -> tensor<9xf32>\n    %v" + n +
            " = stablehlo.convert %w" + n + " : (tensor<9xf32>) -> " + tensor + "\n";
    results += (next == 0 ? "%y" : ", %y") + n + ", %w" + n + ", %v" + n;
    types += (next++ == 0 ? "" : ", ") + tensor + ", tensor<9xf32>, " + tensor;
  }
  expect_meaning(module_of("(" + arguments + ") -> (" + types + ")",
                           body + "    return " + results + " : " + types));
}

}  // namespace
}  // namespace spmd::testing
