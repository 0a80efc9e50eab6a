// Special functions and functions of complex numbers against values computed with mpmath 1.4.1 in
// 50 digits, as double literals.
#include <array>
#include <bit>
#include <cmath>
#include <complex>

#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

// Distance in units in the last place; NaNs are equal.
int64_t ulps(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b) ? 0 : INT64_MAX;
  const auto place = [](double x) {
    const auto bits = std::bit_cast<int64_t>(x);
    return bits < 0 ? INT64_MIN - bits : bits;
  };
  return std::abs(place(a) - place(b));
}
int64_t ulps(float a, float b) {
  const auto place = [](float x) {
    const auto bits = std::bit_cast<int32_t>(x);
    return bits < 0 ? INT32_MIN - int64_t{bits} : int64_t{bits};
  };
  return std::abs(place(a) - place(b));
}

struct UnaryRows {
  OpCode code;
  std::vector<std::array<double, 2>> rows;  // argument, value
};
const UnaryRows kUnary[] = {
    {OpCode::kAcos,
     {{-0x1.0000000000000p+0, 0x1.921fb54442d18p+1},
      {-0x1.ffffde7210be9p-1, 0x1.91f15dfb82062p+1},
      {-0x1.0000000000000p-1, 0x1.0c152382d7366p+1},
      {-0x1.12e0be826d695p-30, 0x1.921fb5488e548p+0},
      {0x0.0p+0, 0x1.921fb54442d18p+0},
      {0x1.3333333333333p-2, 0x1.441f5ecbeef59p+0},
      {0x1.8000000000000p-1, 0x1.720a392c1d955p-1},
      {0x1.ffffffff24190p-1, 0x1.da88066815a95p-17},
      {0x1.0000000000000p+0, 0x0.0p+0}}},
    {OpCode::kAcosh,
     {{0x1.0000000000000p+0, 0x0.0p+0},
      {0x1.000000006df38p+0, 0x1.da880667f3b17p-17},
      {0x1.8000000000000p+0, 0x1.ecc2caec5160ap-1},
      {0x1.0000000000000p+1, 0x1.5124271980435p+0},
      {0x1.4000000000000p+3, 0x1.7f21ed1ce05d4p+1},
      {0x1.2a05f20000000p+33, 0x1.7b810429a7c2ap+4},
      {0x1.7e43c8800759cp+996, 0x1.59bbfd8b83e44p+9}}},
    {OpCode::kAsin,
     {{-0x1.0000000000000p+0, -0x1.921fb54442d18p+0},
      {-0x1.6666666666666p-1, -0x1.8d00e692afd95p-1},
      {-0x1.79ca10c924223p-67, -0x1.79ca10c924223p-67},
      {0x0.0p+0, 0x0.0p+0},
      {0x1.5798ee2308c3ap-27, 0x1.5798ee2308c3ap-27},
      {0x1.0000000000000p-1, 0x1.0c152382d7366p-1},
      {0x1.ffffffaa19c47p-1, 0x1.9216709c28b31p+0}}},
    {OpCode::kAsinh,
     {{-0x1.4e718d7d7625ap+664, -0x1.cd35cd6cad20fp+8},
      {-0x1.8000000000000p+1, -0x1.d185b507edc0ep+0},
      {-0x1.b7cdfd9d7bdbbp-34, -0x1.b7cdfd9d7bdbbp-34},
      {0x1.56e1fc2f8f359p-997, 0x1.56e1fc2f8f359p-997},
      {0x1.0000000000000p-1, 0x1.ecc2caec5160ap-2},
      {0x1.0000000000000p+1, 0x1.719218313d087p+0},
      {0x1.dcd6500000000p+29, 0x1.56a9a0b23d188p+4}}},
    {OpCode::kAtan,
     {{-0x1.93e5939a08ceap+99, -0x1.921fb54442d18p+0},
      {-0x1.0000000000000p+1, -0x1.1b6e192ebbe44p+0},
      {-0x1.19799812dea11p-40, -0x1.19799812dea11p-40},
      {0x1.999999999999ap-4, 0x1.983e282e2cc4dp-4},
      {0x1.0000000000000p+0, 0x1.921fb54442d18p-1},
      {0x1.86a0000000000p+16, 0x1.921f0d7e968a8p+0}}},
    {OpCode::kAtanh,
     {{-0x1.fffffff768fa1p-1, -0x1.56a9a0b9b2416p+3},
      {-0x1.0000000000000p-1, -0x1.193ea7aad030bp-1},
      {0x1.203af9ee75616p-50, 0x1.203af9ee75616p-50},
      {0x1.0000000000000p-2, 0x1.058aefa811452p-2},
      {0x1.fff2e48e8a71ep-1, 0x1.3ce8f5de1814dp+2}}},
    {OpCode::kCosh,
     {{-0x1.5e00000000000p+9, 0x1.d945df4f8ec8ep+1008},
      {-0x1.0000000000000p+0, 0x1.8b07551d9f550p+0},
      {0x1.12e0be826d695p-30, 0x1.0000000000000p+0},
      {0x1.0000000000000p-1, 0x1.20ac1862ae8d0p+0},
      {0x1.8000000000000p+1, 0x1.422a497d6185ep+3},
      {0x1.6333333333333p+9, 0x1.da98a7371610bp+1023}}},
    {OpCode::kSinh,
     {{-0x1.5e00000000000p+9, -0x1.d945df4f8ec8ep+1008},
      {-0x1.0000000000000p+0, -0x1.2cd9fc44eb982p+0},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {0x1.0000000000000p-1, 0x1.0acd00fe63b97p-1},
      {0x1.8000000000000p+1, 0x1.40926e70949aep+3},
      {0x1.6333333333333p+9, 0x1.da98a7371610bp+1023}}},
    {OpCode::kErfc,
     {{-0x1.4000000000000p+2, 0x1.fffffffffe4f4p+0},
      {-0x1.0000000000000p-1, 0x1.853f7ae0c76e9p+0},
      {0x1.79ca10c924223p-67, 0x1.0000000000000p+0},
      {0x1.0000000000000p-1, 0x1.eb02147ce245cp-2},
      {0x1.0000000000000p+0, 0x1.4226162fbddd5p-3},
      {0x1.8000000000000p+1, 0x1.729df6503422ap-16},
      {0x1.4000000000000p+3, 0x1.7d8a7f2a8a2d0p-149},
      {0x1.a000000000000p+4, 0x1.284bfe1cdea24p-981}}},
    {OpCode::kErfInv,
     {{-0x1.ffffffff24190p-1, -0x1.24a92a03d21cdp+2},
      {-0x1.0000000000000p-1, -0x1.e861fbb24c00ap-2},
      {-0x1.19799812dea11p-40, -0x1.f2e6c291f30e8p-41},
      {0x1.56e1fc2f8f359p-997, 0x1.2fdf36bf69b9fp-997},
      {0x1.999999999999ap-4, 0x1.6bf442539fd74p-4},
      {0x1.6666666666666p-1, 0x1.773a9da42b44fp-1},
      {0x1.e666666666666p-1, 0x1.62ca97d0fbb2ap+0},
      {0x1.ffffffffffff7p-1, 0x1.6b42341743884p+2}}},
    {OpCode::kLgamma,
     {{-0x1.9100000000000p+6, -0x1.6b66a2e797b34p+8},
      {-0x1.4000000000000p+1, -0x1.ccbf9f5ed0f16p-5},
      {-0x1.0000000000000p-1, 0x1.43f89a3f0edd6p+0},
      {0x1.b7cdfd9d7bdbbp-34, 0x1.7069e2aa26ae4p+4},
      {0x1.0000000000000p-1, 0x1.250d048e7a1bdp-1},
      {0x1.000001ad7f29bp+0, -0x1.efd30c8e518b9p-25},
      {0x1.fffffe5280d65p+0, -0x1.6b2b405fa85a3p-25},
      {0x1.d99999999999ap+1, 0x1.6d9625e359b87p+0},
      {0x1.9000000000000p+5, 0x1.2121a930c6ec3p+7},
      {0x1.5700000000000p+7, 0x1.6292532a8beaap+9}}},
    {OpCode::kDigamma,
     {{-0x1.9266666666666p+5, 0x1.8d7768caa629ap+2},
      {-0x1.4000000000000p+1, 0x1.1a68793defc15p+0},
      {-0x1.0000000000000p-2, 0x1.750282bca7d92p+1},
      {0x1.5798ee2308c3ap-27, -0x1.7d784024f119ep+26},
      {0x1.0000000000000p-1, -0x1.f6a897d3214fcp+0},
      {0x1.0000000000000p+0, -0x1.2788cfc6fb619p-1},
      {0x1.762d86356be35p+0, -0x1.42f922b3354c0p-49},
      {0x1.762d86356be3fp+0, -0x1.aa2d9b3ce29e0p-54},
      {0x1.7851eb851eb85p+0, 0x1.08529d3fa9583p-7},
      {0x1.0000000000000p+1, 0x1.b0ee6072093cep-2},
      {0x1.4000000000000p+3, 0x1.20396dc85cc95p+1},
      {0x1.e848000000000p+19, 0x1.ba18a88c907d1p+3}}},
    {OpCode::kBesselI1e,
     {{-0x1.e000000000000p+5, -0x1.a34376bc439b1p-5},
      {-0x1.8000000000000p+1, -0x1.9319e244ba85dp-3},
      {-0x1.b7cdfd9d7bdbbp-34, -0x1.b7cdfd9cbef6ap-35},
      {0x1.999999999999ap-4, 0x1.7315ba734f4fdp-5},
      {0x1.0000000000000p+0, 0x1.a9ccef9365f00p-3},
      {0x1.0000000000000p+3, 0x1.12b94cad917c6p-3},
      {0x1.3f33333333333p+5, 0x1.003dd5cf0dbfap-4},
      {0x1.40ccccccccccdp+5, 0x1.ff3a62280f1bfp-5},
      {0x1.5e00000000000p+9, 0x1.edd4ae130b94ep-7},
      {0x1.2a05f20000000p+33, 0x1.0bb9c30b3a255p-18}}},
};

TEST(SpecialFunctions, OfOneNumber) {
  for (const UnaryRows& function : kUnary) {
    for (const auto& [x, expected] : function.rows) {
      const Literal wide = Literal::splat({DType::kF64, {1}}, x);
      EXPECT_LE(ulps(*apply(function.code, {wide}).as<double>(), expected), 2)
          << name_of(function.code) << " of " << x;
      // In single precision: where the argument is one, the value is the rounded one.
      if (static_cast<double>(static_cast<float>(x)) != x) continue;
      const Literal narrow = Literal::splat({DType::kF32, {1}}, x);
      EXPECT_LE(ulps(*apply(function.code, {narrow}).as<float>(), static_cast<float>(expected)), 1)
          << name_of(function.code) << " of float " << x;
    }
  }
}

struct BinaryRows {
  OpCode code;
  std::vector<std::array<double, 3>> rows;  // arguments, value
};
const BinaryRows kBinary[] = {
    {OpCode::kPolygamma,
     {{0x0.0p+0, 0x1.4000000000000p+1, 0x1.680425af12b5ep-1},
      {0x1.0000000000000p+0, 0x1.999999999999ap-4, 0x1.95bbb2c5c8286p+6},
      {0x1.0000000000000p+0, 0x1.0000000000000p+0, 0x1.a51a6625307d3p+0},
      {0x1.0000000000000p+0, 0x1.9000000000000p+6, 0x1.4952e891b603ap-7},
      {0x1.0000000000000p+1, 0x1.0000000000000p-1, -0x1.0d42c0452055dp+4},
      {0x1.0000000000000p+1, -0x1.8000000000000p+0, -0x1.e3bef327df0e7p-3},
      {0x1.8000000000000p+1, 0x1.4000000000000p+3, 0x1.3012f876b805cp-9},
      {0x1.4000000000000p+2, 0x1.0624dd2f1a9fcp-10, 0x1.a055690d9db7fp+66},
      {0x1.4000000000000p+3, 0x1.0000000000000p+1, -0x1.c053f15cede28p+10},
      {0x1.e000000000000p+4, 0x1.6000000000000p+2, -0x1.63cae28787a8dp+31},
      {0x1.0000000000000p+1, -0x1.e848080000000p+19, 0x1.f019b59389d36p+6}}},
    {OpCode::kZeta,
     {{0x1.000001ad7f29bp+0, 0x1.0000000000000p+0, 0x1.312d01248b86bp+23},
      {0x1.0000000000000p+1, 0x1.0000000000000p+0, 0x1.a51a6625307d3p+0},
      {0x1.0000000000000p+1, 0x1.0000000000000p-1, 0x1.3bd3cc9be45dep+2},
      {0x1.8000000000000p+1, 0x1.0624dd2f1a9fcp-10, 0x1.dcd65009972cep+29},
      {0x1.4000000000000p+1, 0x1.c000000000000p+2, 0x1.485989efb8698p-5},
      {0x1.4000000000000p+3, 0x1.4000000000000p+4, 0x1.2fde2ca886ddfp-42},
      {0x1.8000000000000p+0, 0x1.86a0000000000p+16, 0x1.9e7cb22c12532p-8},
      {0x1.9000000000000p+5, 0x1.4000000000000p+0, 0x1.dee7a4ad4bdcbp-17},
      {0x1.0000000000000p+1, -0x1.0000000000000p-1, 0x1.1de9e64df22efp+3},
      {0x1.8000000000000p+1, -0x1.a000000000000p+1, -0x1.efd222d7bc621p+5},
      {0x1.0cccccccccccdp+4, 0x1.39a3d70a3d70ap+8, 0x1.04905c7434226p-135},
      // pi^2 - zeta(2, 1000001.5) and -2 pi^3 + zeta(3, 1000001.25), by reflection
      {0x1.0000000000000p+1, -0x1.e848100000000p+19, 0x1.3bd3ca83058d0p+3},
      {0x1.8000000000000p+1, -0x1.e848080000000p+19, -0x1.f019b59389d36p+5}}},
};

TEST(SpecialFunctions, OfTwoNumbers) {
  for (const BinaryRows& function : kBinary) {
    for (const auto& [x, y, expected] : function.rows) {
      const Literal found = apply(function.code, {Literal::splat({DType::kF64, {1}}, x),
                                                  Literal::splat({DType::kF64, {1}}, y)});
      EXPECT_LE(ulps(*found.as<double>(), expected), 2)
          << name_of(function.code) << " of " << x << ", " << y;
    }
  }
}

// Poles, ends of domains, infinities.
TEST(SpecialFunctions, EdgeCases) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const auto of = [](OpCode code, double x) {
    return *apply(code, {Literal::splat({DType::kF64, {1}}, x)}).as<double>();
  };
  EXPECT_EQ(of(OpCode::kLgamma, 0), inf);
  EXPECT_EQ(of(OpCode::kLgamma, -3), inf);
  EXPECT_EQ(of(OpCode::kLgamma, -inf), inf);
  EXPECT_EQ(of(OpCode::kLgamma, 1), 0);
  EXPECT_TRUE(std::isnan(of(OpCode::kDigamma, 0)));
  EXPECT_TRUE(std::isnan(of(OpCode::kDigamma, -2)));
  EXPECT_EQ(of(OpCode::kDigamma, inf), inf);
  EXPECT_EQ(of(OpCode::kErfInv, 1), inf);
  EXPECT_EQ(of(OpCode::kErfInv, -1), -inf);
  EXPECT_TRUE(std::isnan(of(OpCode::kErfInv, 1.5)));
  EXPECT_EQ(of(OpCode::kErfc, inf), 0);
  EXPECT_EQ(of(OpCode::kErfc, -inf), 2);
  EXPECT_TRUE(std::isnan(of(OpCode::kAcosh, 0.5)));
  EXPECT_TRUE(std::isnan(of(OpCode::kAcos, 1.1)));
  EXPECT_EQ(of(OpCode::kAtanh, 1), inf);
  EXPECT_EQ(of(OpCode::kBesselI1e, inf), 0);
  EXPECT_TRUE(std::signbit(of(OpCode::kBesselI1e, -0.0)));
  EXPECT_TRUE(std::isnan(of(OpCode::kBesselI1e, nan)));
  const auto both = [](OpCode code, double x, double y) {
    return *apply(code,
                  {Literal::splat({DType::kF64, {1}}, x), Literal::splat({DType::kF64, {1}}, y)})
                .as<double>();
  };
  EXPECT_EQ(both(OpCode::kZeta, 1, 2), inf);
  EXPECT_TRUE(std::isnan(both(OpCode::kZeta, 0.5, 2)));
  EXPECT_EQ(both(OpCode::kZeta, 2, 0), inf);
  EXPECT_EQ(both(OpCode::kZeta, 2, -3), inf);
  EXPECT_TRUE(std::isnan(both(OpCode::kZeta, 2.5, -0.5)));
  EXPECT_TRUE(std::isnan(both(OpCode::kPolygamma, 1.5, 2)));
  EXPECT_TRUE(std::isnan(both(OpCode::kPolygamma, -1, 2)));
}

using Complex = std::complex<double>;
const Complex kArguments[] = {{0x1.0000000000000p-1, 0x1.0000000000000p-2},
                              {-0x1.8000000000000p+0, 0x1.0000000000000p+1},
                              {0x1.8000000000000p+1, -0x1.0000000000000p-1},
                              {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
                              {-0x1.3333333333333p-2, -0x1.0000000000000p+2}};
struct ComplexRows {
  OpCode code;
  std::vector<Complex> values;  // of kArguments
};
const ComplexRows kComplex[] = {
    {OpCode::kAcos,
     {{0x1.11b645300f051p+0, -0x1.202649ab3008fp-2},
      {0x1.16b20601c9c31p+1, -0x1.9f5bc6cb5ad78p+0},
      {0x1.65ad0bbf3b69dp-3, 0x1.c76bebc6e1802p+0},
      {0x1.921fb53ff74e9p+0, -0x1.12e0be826d695p-30},
      {0x1.a4b87fd2757c9p+0, 0x1.0c7380110d302p+1}}},
    {OpCode::kAcosh,
     {{0x1.202649ab3008fp-2, 0x1.11b645300f051p+0},
      {0x1.9f5bc6cb5ad78p+0, 0x1.16b20601c9c31p+1},
      {0x1.c76bebc6e1802p+0, -0x1.65ad0bbf3b69dp-3},
      {0x1.12e0be826d695p-30, 0x1.921fb53ff74e9p+0},
      {0x1.0c7380110d302p+1, -0x1.a4b87fd2757c9p+0}}},
    {OpCode::kAsin,
     {{0x1.00d2e0286798ep-1, 0x1.202649ab3008fp-2},
      {-0x1.3688ad7ea1693p-1, 0x1.9f5bc6cb5ad78p+0},
      {0x1.656a13cc5b645p+0, -0x1.c76bebc6e1802p+0},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.298ca8e32ab0dp-4, -0x1.0c7380110d302p+1}}},
    {OpCode::kAsinh,
     {{0x1.f87ff96f4e7fcp-2, 0x1.cb6cb73d06844p-3},
      {-0x1.99b4792f6c169p+0, 0x1.c689273ac6edap-1},
      {0x1.d487a4d98cd2ep+0, -0x1.418b9fff859c3p-3},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.0883e159f17d4p+1, -0x1.7e566e24f71d0p+0}}},
    {OpCode::kAtan,
     {{0x1.efe068bba2275p-2, 0x1.9acd28271c737p-3},
      {-0x1.4fac5404fe6dbp+0, 0x1.3de0e96e47aa7p-2},
      {0x1.41a34fb542c01p+0, -0x1.90e2886901e71p-5},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.8d097dcffee2ap+0, -0x1.03ea5653f6352p-2}}},
    {OpCode::kAtanh,
     {{0x1.00307f2440124p-1, 0x1.41f1963c0045fp-2},
      {-0x1.c2be60e50b34fp-3, 0x1.3ec939df5d93fp+0},
      {0x1.57572ca5ba6e2p-2, -0x1.82af1c986c686p+0},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.1fb99c5b7d9d6p-6, -0x1.53ba0b0f810c2p+0}}},
    {OpCode::kCosh,
     {{0x1.17b2b862e3533p+0, 0x1.0807c14fe84fcp-3},
      {-0x1.f538a60bbeb4ap-1, -0x1.efa76abb73e19p+0},
      {0x1.1ab9ff02cc7d8p+3, -0x1.33617c74b28c7p+2},
      {0x1.0000000000000p+0, 0x1.2725dd1d243acp-60},
      {-0x1.5dd6b9c1a6e24p-1, -0x1.d7fc502cb1d03p-3}}},
    {OpCode::kCosine,
     {{0x1.cf6fd72d3ef82p-1, -0x1.f00fc6e441f79p-4},
      {0x1.1083a5c1caa20p-2, 0x1.cf1340ed6dae0p+1},
      {-0x1.1dc88a306a6f6p+0, 0x1.2d351b122f672p-4},
      {0x1.0000000000000p+0, -0x1.2725dd1d243acp-60},
      {0x1.a16ab4bfb489ep+4, -0x1.021233cefd08ep+3}}},
    {OpCode::kExponential,
     {{0x1.98f390d813322p+0, 0x1.a1b0950a13dbcp-2},
      {-0x1.7c556e2f1625dp-4, 0x1.9f85ac61ffb69p-3},
      {0x1.1a07085a4137ep+4, -0x1.342505c79c914p+3},
      {0x1.000000044b830p+0, 0x1.12e0be870a00cp-30},
      {-0x1.efda47506eb5bp-2, 0x1.1f0deb94aa22ap-1}}},
    {OpCode::kExponentialMinusOne,
     {{0x1.31e721b026644p-1, 0x1.a1b0950a13dbcp-2},
      {-0x1.17c556e2f1626p+0, 0x1.9f85ac61ffb69p-3},
      {0x1.0a07085a4137ep+4, -0x1.342505c79c914p+3},
      {0x1.12e0be826d695p-30, 0x1.12e0be870a00cp-30},
      {-0x1.7bf691d41bad7p+0, 0x1.1f0deb94aa22ap-1}}},
    {OpCode::kLog,
     {{-0x1.29c440606e6abp-1, 0x1.dac670561bb4fp-2},
      {0x1.d5240f0e0e078p-1, 0x1.1b6e192ebbe44p+1},
      {0x1.1cc076ebdaac6p+0, -0x1.52397843c9addp-3},
      {-0x1.4606ee73016d0p+4, 0x1.921fb54442d18p-1},
      {0x1.639bfda429e58p+0, -0x1.a549b919f658ep+0}}},
    {OpCode::kLogPlusOne,
     {{0x1.ad397bd023738p-2, 0x1.52397843c9addp-3},
      {0x1.7269484fac504p-1, 0x1.d0d6a1369bd34p+0},
      {0x1.64e03a7ab35f3p+0, -0x1.fd5ba9aac2f6ep-4},
      {0x1.12e0be826d695p-30, 0x1.12e0be7dd0d1ep-30},
      {0x1.66c0a5c5a6d3fp+0, -0x1.65c5e14caca40p+0}}},
    {OpCode::kLogistic,
     {{0x1.3fa0fe8dc70b1p-1, 0x1.e35a2f4321ba0p-5},
      {-0x1.984f78f9c58e0p-5, 0x1.e0e2abbf97a45p-3},
      {0x1.ea4f42966799fp-1, -0x1.66d3d2ac63eeep-6},
      {0x1.0000000225c18p-1, 0x1.12e0be826d695p-32},
      {0x1.c7cc2d87b3651p-4, 0x1.ee9f939df2b95p-1}}},
    {OpCode::kRsqrt,
     {{0x1.4d3c51c8c9698p+0, -0x1.3aaa3ff095743p-2},
      {0x1.21a1851ff630ap-2, -0x1.21a1851ff630ap-1},
      {0x1.2495c9b2db732p-1, 0x1.8370fbdc286b8p-5},
      {0x1.7fdd4b6702009p+14, -0x1.3e00f2f9fd6aap+13},
      {0x1.5bbfca7de6651p-2, 0x1.76ce9a863376ap-2}}},
    {OpCode::kSine,
     {{0x1.fa5a7b05c7c67p-2, 0x1.c60471b7762d4p-3},
      {-0x1.e05acfb05cc1ep+1, 0x1.06b6148c45ac2p-2},
      {0x1.45e6419d337bbp-3, 0x1.08217b39f58fcp-1},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.023e8af0b521ap+3, -0x1.a123092ff7648p+4}}},
    {OpCode::kSinh,
     {{0x1.0281b0ea5fbddp-1, 0x1.1dacb4621fb3ep-2},
      {0x1.c5adf845dbefep-1, 0x1.11cc1023d9ec3p+1},
      {0x1.195411b1b5f23p+3, -0x1.34e88f1a86962p+2},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {0x1.97a65865be1dap-3, 0x1.950cff9fd696bp-1}}},
    {OpCode::kSqrt,
     {{0x1.749199c6dc181p-1, 0x1.5fce63a0fd5edp-3},
      {0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bcdp+0},
      {0x1.bcee727bb9ce5p+0, -0x1.2696d68098959p-3},
      {0x1.2372f962be832p-15, 0x1.e2e3827530a46p-17},
      {0x1.5cb9d1bcc22f1p+0, -0x1.77dc1614c3dadp+0}}},
    {OpCode::kTan,
     {{0x1.024dea85cc77cp-1, 0x1.3feb35c391b4dp-2},
      {-0x1.5f68744c95eddp-8, 0x1.09739b8c2dec7p+0},
      {-0x1.c93327a9bee67p-4, -0x1.e0bcbdf0debbbp-2},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.8d03e3d809571p-12, -0x1.ffb76e5b2360dp-1}}},
    {OpCode::kTanh,
     {{0x1.f12393ea7d90dp-2, 0x1.959e1882af54dp-3},
      {-0x1.106bc470af4edp+0, -0x1.494816da63f94p-4},
      {0x1.fea04029505acp-1, -0x1.10a86027652f5p-8},
      {0x1.12e0be826d695p-30, 0x1.12e0be826d695p-30},
      {-0x1.3970a07a637e3p-1, -0x1.e715c15358865p-1}}},
    {OpCode::kCbrt,
     {{0x1.a0bed52e8cd38p-1, 0x1.03b3a2a5eef7ep-3},
      {0x1.0105bca112b0ep+0, 0x1.d3948bff1c60bp-1},
      {0x1.72580a13343cdp+0, -0x1.4686b56942ad4p-4},
      {0x1.1c387144707afp-10, 0x1.30a0683d1829bp-12},
      {0x1.5b136ce7a2541p+0, -0x1.a834d5b48d04fp-1}}},
    {OpCode::kSign,
     {{0x1.c9f25c5bfedd9p-1, 0x1.c9f25c5bfedd9p-2},
      {-0x1.3333333333333p-1, 0x1.999999999999ap-1},
      {0x1.f9089fd7aa128p-1, -0x1.50b06a8fc6b70p-3},
      {0x1.6a09e667f3bcdp-1, 0x1.6a09e667f3bcdp-1},
      {-0x1.3256f1dc47129p-4, -0x1.fe90e86f211f0p-1}}},
};

TEST(SpecialFunctions, OfComplexNumbers) {
  for (const ComplexRows& function : kComplex) {
    for (size_t i = 0; i < function.values.size(); ++i) {
      const Complex z = kArguments[i], expected = function.values[i];
      const Literal wide = Literal::of<Complex>({DType::kC128, {1}}, {z});
      const Complex found = *apply(function.code, {wide}).as<Complex>();
      EXPECT_LE(std::abs(found - expected), 4e-16 * std::abs(expected))
          << name_of(function.code) << z;
      const Literal narrow =
          Literal::of<std::complex<float>>({DType::kC64, {1}}, {std::complex<float>(z)});
      const Complex rounded = Complex(*apply(function.code, {narrow}).as<std::complex<float>>());
      // Rounding the argument moves the value by up to some float ulps.
      EXPECT_LE(std::abs(rounded - expected), 1e-6 * (std::abs(expected) + std::abs(z)))
          << name_of(function.code) << z;
    }
  }
}

TEST(ComplexNumbers, PartsAndMagnitudes) {
  const Literal z = Literal::of<std::complex<float>>({DType::kC64, {2}}, {{3, -4}, {-0.0f, 2}});
  EXPECT_EQ(doubles(apply(OpCode::kReal, {z})), (std::vector<double>{3, 0}));
  EXPECT_EQ(doubles(apply(OpCode::kImag, {z})), (std::vector<double>{-4, 2}));
  EXPECT_EQ(doubles(apply(OpCode::kAbs, {z})), (std::vector<double>{5, 2}));
  EXPECT_EQ(apply(OpCode::kComplex, {apply(OpCode::kReal, {z}), apply(OpCode::kImag, {z})}), z);
  // Of real numbers: themselves, and zero.
  const Literal x = f32({2}, {1.5f, -2});
  EXPECT_EQ(apply(OpCode::kReal, {x}), x);
  EXPECT_EQ(doubles(apply(OpCode::kImag, {x})), (std::vector<double>{0, 0}));
}

}  // namespace
}  // namespace spmd::testing
