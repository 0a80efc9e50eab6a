// Dense elements of every type, in every spelling.
#include "tests/ir/text_testing.h"

namespace spmd::testing {
namespace {

Literal literal(const std::string& text, const std::string& trailer = "") {
  const Module module =
      parse("func.func @main() {\n  %0 = stablehlo.constant " + text + "\n  return\n}\n" + trailer);
  expect_round_trips(module);
  const Function& fn = module.main();
  return fn.op(fn.block(fn.body()).first).as<ConstantAttrs>().value;
}

std::vector<double> values(const std::string& text, const std::string& trailer = "") {
  const Literal read = literal(text, trailer);
  std::vector<double> result;
  for (int64_t i = 0; i < read.type().num_elements(); ++i) result.push_back(read.as_double(i));
  return result;
}

using Doubles = std::vector<double>;

TEST(TextLiterals, NumbersOfEveryType) {
  EXPECT_EQ(values("dense<[true, false]> : tensor<2xi1>"), (Doubles{1, 0}));
  EXPECT_EQ(values("dense<[-8, 7]> : tensor<2xi4>"), (Doubles{-8, 7}));
  EXPECT_EQ(values("dense<[-128, 127]> : tensor<2xi8>"), (Doubles{-128, 127}));
  EXPECT_EQ(values("dense<[-32768, 0x7FFF]> : tensor<2xi16>"), (Doubles{-32768, 32767}));
  EXPECT_EQ(values("dense<[[1], [-2]]> : tensor<2x1xi32>"), (Doubles{1, -2}));
  EXPECT_EQ(literal("dense<-9223372036854775808> : tensor<i64>").as_int(0), INT64_MIN);
  EXPECT_EQ(values("dense<15> : tensor<ui4>"), (Doubles{15}));
  EXPECT_EQ(values("dense<255> : tensor<ui8>"), (Doubles{255}));
  EXPECT_EQ(values("dense<65535> : tensor<ui16>"), (Doubles{65535}));
  EXPECT_EQ(values("dense<4294967295> : tensor<ui32>"), (Doubles{4294967295}));
  EXPECT_EQ(literal("dense<[18446744073709551615, 1]> : tensor<2xui64>").as<uint64_t>()[0],
            UINT64_MAX);
  EXPECT_EQ(values("dense<[1.0, -448.0]> : tensor<2xf8E4M3FN>"), (Doubles{1, -448}));
  EXPECT_EQ(values("dense<[1.5, 57344.0]> : tensor<2xf8E5M2>"), (Doubles{1.5, 57344}));
  EXPECT_EQ(values("dense<[6.550400e+04, 1.0]> : tensor<2xf16>"), (Doubles{65504, 1}));
  EXPECT_EQ(values("dense<[1.0, 3.0e+38]> : tensor<2xbf16>")[0], 1);
  EXPECT_EQ(values("dense<9.99999974E-6> : tensor<f32>"), (Doubles{9.99999974e-6F}));
  EXPECT_EQ(values("dense<0.1> : tensor<f64>"), (Doubles{0.1}));
  EXPECT_EQ(values("dense<[1.0e-45, 3.4028234663852886e+38]> : tensor<2xf32>"),
            (Doubles{1.0e-45F, 3.4028234663852886e+38}));
  const Literal complex = literal("dense<[(1.0, 2.0), (3.5,-4.0)]> : tensor<2xcomplex<f32>>");
  EXPECT_EQ(complex.as<float>()[1], 2);
  EXPECT_EQ(complex.as<float>()[3], -4);
  EXPECT_EQ(literal("dense<(1.0,2.0)> : tensor<3xcomplex<f64>>").as<double>()[1], 2);
}

TEST(TextLiterals, BitPatterns) {
  EXPECT_EQ(values("dense<0xFF800000> : tensor<f32>")[0], -INFINITY);
  EXPECT_TRUE(std::isnan(values("dense<0x7FC00000> : tensor<f32>")[0]));
  EXPECT_EQ(values("dense<0xFF80> : tensor<bf16>")[0], -INFINITY);
  EXPECT_EQ(values("dense<0x7C00> : tensor<f16>")[0], INFINITY);
  EXPECT_EQ(values("dense<0xFFF0000000000000> : tensor<f64>")[0], -INFINITY);
  EXPECT_EQ(literal("dense<0x7FC12345> : tensor<f32>").as<uint32_t>()[0], 0x7FC12345u);
}

TEST(TextLiterals, RawBytes) {
  EXPECT_EQ(values("dense<\"0x0000803F00000040\"> : tensor<2xf32>"), (Doubles{1, 2}));
  EXPECT_EQ(values("dense<\"0x0000803F\"> : tensor<3xf32>"), (Doubles{1, 1, 1}));
  EXPECT_EQ(values("dense<\"0x0100010001000100\"> : tensor<8xi1>"),
            (Doubles{1, 0, 1, 0, 1, 0, 1, 0}));
  EXPECT_EQ(values("dense<\"0x05\"> : tensor<4xi1>"), (Doubles{1, 0, 1, 0}));  // a bit each
  EXPECT_EQ(values("dense<\"0xFF\"> : tensor<20xi1>"), Doubles(20, 1));
  EXPECT_EQ(values("dense_resource<r> : tensor<2xi16>",
                   "{-#\n  dialect_resources: {\n    builtin: {\n      r: \"0x0400000001000200\"\n"
                   "    }\n  }\n#-}\n"),
            (Doubles{1, 2}));
}

// A byte holds a narrow integer in its low bits; what stands above them says nothing.
TEST(TextLiterals, RawBytesOfNarrowIntegers) {
  EXPECT_EQ(values("dense<\"0x08F8017F\"> : tensor<4xi4>"), (Doubles{-8, -8, 1, -1}));
  EXPECT_EQ(values("dense<\"0x0FFF01\"> : tensor<3xui4>"), (Doubles{15, 15, 1}));
  EXPECT_EQ(values("dense<\"0x0F\"> : tensor<5xi4>"), (Doubles{-1, -1, -1, -1, -1}));
}

TEST(TextLiterals, SplatsAndEmptyOnes) {
  EXPECT_TRUE(literal("dense<1.0> : tensor<1000x1000xf32>").is_splat());
  EXPECT_EQ(values("dense<> : tensor<0x3xf32>"), Doubles{});
  EXPECT_EQ(values("dense<1.0> : tensor<0xf32>"), Doubles{});
}

TEST(TextLiterals, LargeOnesPrintAsBytes) {
  Literal large({DType::kF32, {1000}});
  for (int i = 0; i < 1000; ++i) large.mutable_as<float>()[i] = static_cast<float>(i) / 7;
  Module module;
  Function& fn = module.function(module.add_function("main"));
  fn.insert_op(fn.body(), OpId::kNone, OpCode::kConstant, {}, {large.type()}, ConstantAttrs{large},
               nullptr);
  fn.insert_op(fn.body(), OpId::kNone, OpCode::kReturn, {}, {}, NoAttrs{}, nullptr);
  EXPECT_EQ(first_difference(module, parse(print_stablehlo(module))), std::nullopt);
  PrintOptions elide;
  elide.elide_large_constants = true;
  EXPECT_NE(print_stablehlo(module, elide).find("dense_resource<__elided__>"), std::string::npos);
}

}  // namespace
}  // namespace spmd::testing
