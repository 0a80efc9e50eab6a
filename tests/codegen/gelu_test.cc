// GELU and its gradient as epilogues of products: which programs are one, whatever their form, and
// that the plan means the same. On the stand-in for the GPU's library (SPMD_TEST_DEVICE=cuda) the
// epilogue is the library's.
#include "codegen/gelu.h"

#include "tests/codegen/plan_testing.h"
#include "tests/support/error_of.h"

namespace spmd::testing {
namespace {

constexpr const char* kGeluMatrix = "tensor<6x16xT>";

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  for (size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += with.size())
    text.replace(at, what.size(), with);
  return text;
}

// `lines` like "t = tanh s" or "c = 0.5", all of 6 x 16 elements.
std::string gelu_ops(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) {
    const size_t equals = line.find(" = ");
    const std::string name = line.substr(0, equals), rest = line.substr(equals + 3);
    const size_t space = rest.find(' ');
    text += "    %" + name + " = stablehlo.";
    if (space == std::string::npos) {
      text += "constant dense<" + rest + "> : " + kGeluMatrix + "\n";
      continue;
    }
    text += rest.substr(0, space) + " %" + replaced(rest.substr(space + 1), " ", ", %") + " : " +
            kGeluMatrix + "\n";
  }
  return text;
}

// %p is the product of %x and %w, %u its sum with the bias %b; `lines` go on to `results`.
Module gelu_program(const std::vector<std::string>& lines, const std::vector<std::string>& results,
                    const std::string& type) {
  std::string types, values;
  for (const std::string& result : results) {
    types += (types.empty() ? "" : ", ") + std::string(kGeluMatrix);
    values += (values.empty() ? "%" : ", %") + result;
  }
  const std::string body =
      "    %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0] : (tensor<6x24xT>, "
      "tensor<24x16xT>) -> tensor<6x16xT>\n"
      "    %c = stablehlo.broadcast_in_dim %b, dims = [1] : (tensor<16xT>) -> tensor<6x16xT>\n"
      "    %u = stablehlo.add %p, %c : tensor<6x16xT>\n" +
      gelu_ops(lines) + "    return " + values + " : " + types;
  return module_of(
      replaced("(%x: tensor<6x24xT>, %w: tensor<24x16xT>, %b: tensor<16xT>, %y: tensor<6x16xT>) -> "
               "(" +
                   types + ")",
               "xT>", "x" + type + ">"),
      replaced(body, "xT>", "x" + type + ">"));
}

// Sixteen bits are rounded once instead of after each op.
std::vector<plan::DotEpilogue> gelu_epilogues(const Module& module, double tolerance = 0.02) {
  return check_epilogues(module, tolerance);
}

// As JAX writes it.
const std::vector<std::string> kForward = {
    "k = 0.044715",      "q = 0.797884583",    "h = 0.5",           "e = 1.0",
    "u2 = multiply u u", "u3 = multiply u u2", "a = multiply k u3", "s = add u a",
    "v = multiply q s",  "t = tanh v",         "o = add e t",       "m = multiply h o",
    "r = multiply u m"};
// x ** 3, and x / 2 first.
const std::vector<std::string> kWithPower = {
    "k = 0.044715",   "q = 0.797884583",   "h = 0.5",         "e = 1.0",          "n = 3.0",
    "u3 = power u n", "a = multiply u3 k", "s = add a u",     "v = multiply s q", "t = tanh v",
    "o = add t e",    "m = multiply u h",  "r = multiply m o"};
// x logistic(2 r(x)); the constants are multiplied out.
const std::vector<std::string> kLogistic = {
    "k = 0.07135481", "q = 1.59576912",   "u2 = multiply u u", "a = multiply k u2",
    "s = add a q",    "v = multiply s u", "t = logistic v",    "r = multiply u t"};
// p gelu'(y), as JAX differentiates kForward: each use of y by itself.
const std::vector<std::string> kBackward = {"k = 0.044715",
                                            "q = 0.797884583",
                                            "h = 0.5",
                                            "e = 1.0",
                                            "n = 3.0",
                                            "u2 = multiply y y",
                                            "u3 = multiply y u2",
                                            "a = multiply k u3",
                                            "s = add y a",
                                            "v = multiply q s",
                                            "t = tanh v",
                                            "o = add e t",
                                            "m = multiply h o",
                                            "d1 = multiply p m",
                                            "d2 = multiply y p",
                                            "d3 = multiply h d2",
                                            "f = subtract e t",
                                            "d4 = multiply d3 f",
                                            "d5 = multiply d4 t",
                                            "d6 = add d4 d5",
                                            "d7 = multiply q d6",
                                            "d8 = multiply k d7",
                                            "z = multiply n u2",
                                            "d9 = multiply d8 z",
                                            "s1 = add d1 d7",
                                            "r = add s1 d9"};

TEST(Gelu, InEveryForm) {
  for (const auto& lines : {kForward, kWithPower, kLogistic})
    for (const std::string type : {"bf16", "f16"}) {
      SCOPED_TRACE(lines.back() + " of " + type);
      const auto epilogues = gelu_epilogues(gelu_program(lines, {"r"}, type));
      ASSERT_EQ(epilogues.size(), 1U);
      EXPECT_EQ(epilogues[0].activation(), plan::DotEpilogue::GELU);
      EXPECT_GT(epilogues[0].bias(), 0);
      EXPECT_FALSE(epilogues[0].has_preactivation());
    }
}

TEST(Gelu, WithWhatItIsAppliedTo) {
  for (const std::vector<std::string>& results :
       {std::vector<std::string>{"r", "u"}, std::vector<std::string>{"u", "r"}}) {
    const auto epilogues = gelu_epilogues(gelu_program(kForward, results, "bf16"));
    ASSERT_EQ(epilogues.size(), 1U);
    EXPECT_EQ(epilogues[0].activation(), plan::DotEpilogue::GELU);
    EXPECT_TRUE(epilogues[0].has_preactivation());
    EXPECT_NE(epilogues[0].preactivation().buffer(), epilogues[0].out().buffer());
  }
}

TEST(Gelu, Gradient) {
  for (const std::string type : {"bf16", "f16"}) {
    const auto epilogues = gelu_epilogues(gelu_program(kBackward, {"r"}, type));
    ASSERT_EQ(epilogues.size(), 1U);
    EXPECT_EQ(epilogues[0].activation(), plan::DotEpilogue::GELU_GRADIENT);
    EXPECT_TRUE(epilogues[0].has_preactivation());
    EXPECT_EQ(epilogues[0].scale(), 1);
  }
}

// Its constants multiplied out: both are rounded, in the same direction in bfloat16.
TEST(Gelu, GradientWithTwoRoundedConstants) {
  const std::vector<std::string> lines = {"k = 0.044715",
                                          "q = 0.797884583",
                                          "h = 0.5",
                                          "e = 1.0",
                                          "k3 = 0.134145",
                                          "u2 = multiply y y",
                                          "u3 = multiply y u2",
                                          "a = multiply u3 k",
                                          "s = add y a",
                                          "v = multiply s q",
                                          "t = tanh v",
                                          "o = add t e",
                                          "m = multiply o h",
                                          "f = subtract e t",
                                          "j = multiply o f",
                                          "d = multiply u2 k3",
                                          "i = add d e",
                                          "l = multiply i q",
                                          "n = multiply j l",
                                          "g = multiply n y",
                                          "z = multiply g h",
                                          "sum = add z m",
                                          "r = multiply p sum"};
  EXPECT_EQ(gelu_epilogues(gelu_program(lines, {"r"}, "bf16")).size(), 1U);
}

std::vector<std::string> with(std::vector<std::string> lines, size_t at, const std::string& line) {
  lines[at] = line;
  return lines;
}

// Other functions, some of them near: another constant, another sign, another power, no tanh, GELU
// of something else than the product, the gradient with another factor or a term too few.
TEST(Gelu, OtherFunctionsStayApart) {
  for (const auto& lines :
       {with(kForward, 0, "k = 0.05"), with(kForward, 1, "q = 0.75"), with(kForward, 2, "h = 0.51"),
        with(kForward, 10, "o = subtract e t"), with(kForward, 5, "u3 = multiply u u"),
        with(kForward, 9, "t = sine v"), with(kForward, 12, "r = multiply y m"),
        with(kWithPower, 4, "n = 2.0"), with(kBackward, 4, "n = 2.0"),
        with(kBackward, 24, "s1 = add d7 d7"), with(kBackward, 18, "d5 = multiply d4 d4")})
    EXPECT_EQ(gelu_epilogues(gelu_program(lines, {"r"}, "bf16"), 0.1).size(), 0U);
}

// The library's tanh is not exact to more than sixteen bits.
TEST(Gelu, NotOf32Bits) {
  EXPECT_EQ(gelu_epilogues(gelu_program(kForward, {"r"}, "f32"), 2e-6).size(), 0U);
}

// What verify_plan() says after `change` to the one product of a program's plan.
template <typename Change>
std::string fault_of(const Module& module, const Change& change) {
  plan::Plan plan = gpu_plan_of(module);
  for (plan::Step& step : *plan.mutable_programs(0)->mutable_body()->mutable_steps())
    if (step.dot().has_epilogue()) change(*step.mutable_dot());
  return error_of([&] { plan::verify_plan(plan); });
}

TEST(Gelu, PlansThatAreWrongAreRefused) {
  const Module kept = gelu_program(kForward, {"r", "u"}, "bf16");
  const Module gradient = gelu_program(kBackward, {"r"}, "bf16");
  const auto expect_fault = [](const std::string& found, const char* wanted) {
    EXPECT_NE(found.find(wanted), std::string::npos) << wanted << "\n got " << found;
  };
  const auto rectify = [](plan::Dot& dot) {
    dot.mutable_epilogue()->set_activation(plan::DotEpilogue::RELU);
  };
  const auto clear = [](plan::Dot& dot) { dot.mutable_epilogue()->clear_preactivation(); };
  const auto take_operand = [](plan::Dot& dot) {
    dot.mutable_epilogue()->mutable_preactivation()->set_buffer(dot.lhs().buffer());
  };
  expect_fault(fault_of(kept, rectify), "an epilogue without GELU has a preactivation");
  expect_fault(fault_of(kept, clear), "a product's epilogue writes elsewhere");
  expect_fault(fault_of(gradient, clear), "the gradient of GELU has no preactivation");
  expect_fault(fault_of(gradient, take_operand), "an epilogue's preactivation lies elsewhere");
}

}  // namespace
}  // namespace spmd::testing
