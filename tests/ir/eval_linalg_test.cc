// fft, cholesky and triangular_solve: the specification's examples, values computed with NumPy, and
// what defines a solution.
#include <complex>

#include "tests/ir/self_check.h"

namespace spmd::testing {
namespace {

TEST(EvalLinalg, SpecificationExamples) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[(1.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)]> : tensor<4xcomplex<f32>>
    %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<4xcomplex<f32>>) -> tensor<4xcomplex<f32>>
    check.expect_almost_eq_const %0, dense<(1.0, 0.0)> : tensor<4xcomplex<f32>>, tolerance = 1.0e-6
    %a = stablehlo.constant dense<[[1.0, 2.0, 3.0], [2.0, 20.0, 26.0], [3.0, 26.0, 70.0]]> : tensor<3x3xf32>
    %1 = stablehlo.cholesky %a, lower = true : tensor<3x3xf32>
    check.expect_eq_const %1, dense<[[1.0, 0.0, 0.0], [2.0, 4.0, 0.0], [3.0, 5.0, 6.0]]> : tensor<3x3xf32>
    %2 = "stablehlo.cholesky"(%a) <{lower = false}> : (tensor<3x3xf32>) -> tensor<3x3xf32>
    check.expect_eq_const %2, dense<[[1.0, 2.0, 3.0], [0.0, 4.0, 5.0], [0.0, 0.0, 6.0]]> : tensor<3x3xf32>
    %b = stablehlo.constant dense<[[2.0, 0.0, 0.0], [4.0, 8.0, 0.0], [6.0, 10.0, 12.0]]> : tensor<3x3xf32>
    %3 = "stablehlo.triangular_solve"(%1, %b) {left_side = true, lower = true, unit_diagonal = false, transpose_a = #stablehlo<transpose NO_TRANSPOSE>} : (tensor<3x3xf32>, tensor<3x3xf32>) -> tensor<3x3xf32>
    check.expect_eq_const %3, dense<[[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]> : tensor<3x3xf32>)");
}

TEST(EvalLinalg, TransformsOfEveryKind) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<[[1.0, -2.0, 3.0, 0.0, 4.0, -1.0], [2.0, 2.0, -3.0, 1.0, 0.0, 5.0]]> : tensor<2x6xf64>
    %0 = stablehlo.fft %x, type = RFFT, length = [6] : (tensor<2x6xf64>) -> tensor<2x4xcomplex<f64>>
    check.expect_almost_eq_const %0, dense<[[(5.0, 0.0), (-4.0, 1.732050808), (-1.0, 0.0), (11.0, 0.0)], [(7.0, 0.0), (6.0, 5.196152423), (1.0, 0.0), (-9.0, 0.0)]]> : tensor<2x4xcomplex<f64>>, tolerance = 1.0e-8
    %1 = stablehlo.fft %x, type = RFFT, length = [2, 6] : (tensor<2x6xf64>) -> tensor<2x4xcomplex<f64>>
    check.expect_almost_eq_const %1, dense<[[(12.0, 0.0), (2.0, 6.928203230), (0.0, 0.0), (2.0, 0.0)], [(-2.0, 0.0), (-10.0, -3.464101615), (-2.0, 0.0), (20.0, 0.0)]]> : tensor<2x4xcomplex<f64>>, tolerance = 1.0e-8
    %back = stablehlo.fft %1, type = IRFFT, length = [2, 6] : (tensor<2x4xcomplex<f64>>) -> tensor<2x6xf64>
    check.expect_almost_eq %back, %x, tolerance = 1.0e-12 : tensor<2x6xf64>
    %z = stablehlo.constant dense<[(1.0, 2.0), (0.0, -1.0), (3.0, 0.0), (2.0, -1.0), (-4.0, 0.5)]> : tensor<5xcomplex<f64>>
    %2 = stablehlo.fft %z, type = FFT, length = [5] : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    check.expect_almost_eq_const %2, dense<[(2.0, 0.5), (-5.119952472, -1.737502820), (3.948418555, 0.6954070099), (7.613887344, 3.495575996), (-3.442353427, 7.046519815)]> : tensor<5xcomplex<f64>>, tolerance = 1.0e-8
    %3 = stablehlo.fft %z, type = IFFT, length = [5] : (tensor<5xcomplex<f64>>) -> tensor<5xcomplex<f64>>
    check.expect_almost_eq_const %3, dense<[(0.4, 0.1), (-0.6884706854, 1.409303963), (1.522777469, 0.6991151991), (0.7896837109, 0.1390814020), (-1.023990494, -0.3475005641)]> : tensor<5xcomplex<f64>>, tolerance = 1.0e-8
    %h = stablehlo.constant dense<[(3.0, 7.0), (1.0, -2.0), (-1.0, 1.0)]> : tensor<3xcomplex<f64>>
    %4 = stablehlo.fft %h, type = IRFFT, length = [4] : (tensor<3xcomplex<f64>>) -> tensor<4xf64>
    check.expect_almost_eq_const %4, dense<[1.0, 2.0, 0.0, 0.0]> : tensor<4xf64>, tolerance = 1.0e-12
    %5 = stablehlo.fft %h, type = IRFFT, length = [5] : (tensor<3xcomplex<f64>>) -> tensor<5xf64>
    check.expect_almost_eq_const %5, dense<[0.6, 1.572944708, 1.003437213, -0.6978644039, 0.5214824834]> : tensor<5xf64>, tolerance = 1.0e-8
    %g = stablehlo.constant dense<[[(1.0, 1.0), (2.0, -1.0)], [(0.0, 0.5), (1.0, 0.0)], [(3.0, 0.0), (-1.0, 2.0)]]> : tensor<3x2xcomplex<f64>>
    %6 = stablehlo.fft %g, type = IRFFT, length = [3, 3] : (tensor<3x2xcomplex<f64>>) -> tensor<3x3xf64>
    check.expect_almost_eq_const %6, dense<[[0.8888888889, 0.02977213249, 0.4146723120], [0.7256765459, -0.4667735438, -0.5699072361], [0.05210123186, 0.6810183472, -0.7554486784]]> : tensor<3x3xf64>, tolerance = 1.0e-8
    %7 = stablehlo.fft %g, type = IRFFT, length = [3, 2] : (tensor<3x2xcomplex<f64>>) -> tensor<3x2xf64>
    check.expect_almost_eq_const %7, dense<[[1.0, 0.3333333333], [0.4665063509, -0.7775105849], [0.03349364905, -0.05582274842]]> : tensor<3x2xf64>, tolerance = 1.0e-8
    %one = stablehlo.fft %g, type = FFT, length = [3, 2] : (tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
    %same = stablehlo.fft %one, type = IFFT, length = [3, 2] : (tensor<3x2xcomplex<f64>>) -> tensor<3x2xcomplex<f64>>
    check.expect_almost_eq %same, %g, tolerance = 1.0e-12 : tensor<3x2xcomplex<f64>>)");
}

TEST(EvalLinalg, EmptyTensors) {
  expect_checks_hold(R"(
    %x = stablehlo.constant dense<> : tensor<0x4xcomplex<f32>>
    %0 = stablehlo.fft %x, type = FFT, length = [4] : (tensor<0x4xcomplex<f32>>) -> tensor<0x4xcomplex<f32>>
    check.expect_eq %0, %x : tensor<0x4xcomplex<f32>>
    %a = stablehlo.constant dense<> : tensor<2x0x0xf32>
    %1 = stablehlo.cholesky %a, lower = true : tensor<2x0x0xf32>
    check.expect_eq %1, %a : tensor<2x0x0xf32>)");
}

TEST(EvalLinalg, ComplexAndIndefiniteMatrices) {
  expect_checks_hold(R"(
    %a = stablehlo.constant dense<[[(4.0, 0.0), (1.0, -1.0)], [(1.0, 1.0), (3.0, 0.0)]]> : tensor<2x2xcomplex<f64>>
    %0 = stablehlo.cholesky %a, lower = true : tensor<2x2xcomplex<f64>>
    check.expect_almost_eq_const %0, dense<[[(2.0, 0.0), (0.0, 0.0)], [(0.5, 0.5), (1.581138830, 0.0)]]> : tensor<2x2xcomplex<f64>>, tolerance = 1.0e-8
    %1 = stablehlo.cholesky %a, lower = false : tensor<2x2xcomplex<f64>>
    check.expect_almost_eq_const %1, dense<[[(2.0, 0.0), (0.5, -0.5)], [(0.0, 0.0), (1.581138830, 0.0)]]> : tensor<2x2xcomplex<f64>>, tolerance = 1.0e-8
    %b = stablehlo.constant dense<[[[1.0, 2.0], [2.0, 1.0]], [[4.0, 0.0], [0.0, 9.0]]]> : tensor<2x2x2xf32>
    %2 = stablehlo.cholesky %b, lower = true : tensor<2x2x2xf32>
    check.expect_eq_const %2, dense<[[[0x7FC00000, 0.0], [0x7FC00000, 0x7FC00000]], [[2.0, 0.0], [0.0, 3.0]]]> : tensor<2x2x2xf32>)");
}

using Complex = std::complex<double>;

// Solves with every combination of attributes and multiplies back.
TEST(EvalLinalg, SolutionsSolve) {
  const Complex a[3][3] = {
      {{2, 1}, {3, -1}, {-1, 2}}, {{1, 1}, {-1, 2}, {4, 0}}, {{2, -2}, {1, 3}, {3, 1}}};
  const Complex b[3][2] = {{{1, 0}, {2, 1}}, {{0, -3}, {4, 2}}, {{5, 1}, {-1, -1}}};
  for (int bits = 0; bits < 24; ++bits) {
    TriangularSolveAttrs attrs{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0,
                               static_cast<TransposeKind>(bits / 8)};
    Function fn("main");
    Module module;
    Function& main = module.function(module.add_function("main"));
    Literal matrix({DType::kC128, {3, 3}}),
        right({DType::kC128, attrs.left_side ? Dims{3, 2} : Dims{2, 3}});
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t k = 0; k < 3; ++k) matrix.mutable_as<Complex>()[i * 3 + k] = a[i][k];
      for (int64_t c = 0; c < 2; ++c) {
        right.mutable_as<Complex>()[attrs.left_side ? i * 2 + c : c * 3 + i] = b[i][c];
      }
    }
    Builder builder(main, main.body());
    const ValueId x = builder.value(OpCode::kTriangularSolve,
                                    {builder.constant(matrix), builder.constant(right)}, attrs);
    builder.return_op({x});
    main.result_info.resize(1);
    const Literal solution = evaluate(module, {})[0];
    const auto op_a = [&](int64_t i, int64_t k) -> Complex {
      const bool transposed = attrs.transpose_a != TransposeKind::kNone;
      const int64_t row = transposed ? k : i, column = transposed ? i : k;
      if (row == column && attrs.unit_diagonal) return 1;
      if (attrs.lower ? column > row : column < row) return 0;
      return attrs.transpose_a == TransposeKind::kAdjoint ? std::conj(a[row][column])
                                                          : a[row][column];
    };
    const Complex* values = solution.as<Complex>();
    for (int64_t i = 0; i < 3; ++i) {
      for (int64_t c = 0; c < 2; ++c) {
        Complex sum = 0;
        for (int64_t k = 0; k < 3; ++k) {
          sum += attrs.left_side ? op_a(i, k) * values[k * 2 + c] : values[c * 3 + k] * op_a(k, i);
        }
        EXPECT_NEAR(std::abs(sum - b[i][c]), 0, 1e-12) << bits;
      }
    }
  }
}

TEST(EvalLinalg, ShapesThatDoNotFit) {
  const auto error = [](const std::string& op) {
    return error_of([&] {
      parse("func.func @main(%x: tensor<2x3xcomplex<f32>>, %r: tensor<2x3xf32>) {\n  %0 = " + op +
            "\n  return\n}");
    });
  };
  EXPECT_NE(error("stablehlo.fft %x, type = FFT, length = [4] : (tensor<2x3xcomplex<f32>>) -> "
                  "tensor<2x3xcomplex<f32>>")
                .find("length 4 does not fit dimension 1 of tensor<2x3xcomplex<f32>>"),
            std::string::npos);
  EXPECT_NE(error("stablehlo.fft %r, type = FFT, length = [3] : (tensor<2x3xf32>) -> "
                  "tensor<2x3xf32>")
                .find("RFFT takes f32 or f64, the others complex numbers"),
            std::string::npos);
  EXPECT_NE(error("stablehlo.cholesky %r, lower = true : tensor<2x3xf32>")
                .find("tensor<2x3xf32> does not hold square matrices"),
            std::string::npos);
}

}  // namespace
}  // namespace spmd::testing
