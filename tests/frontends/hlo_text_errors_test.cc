// What is wrong in HLO text is said with line and column.
#include <algorithm>
#include <fstream>
#include <sstream>

#include "tests/frontends/hlo_text_testing.h"

namespace spmd {
namespace {

using testing::hlo_entry;
using testing::hlo_text_error;

struct Case {
  const char* instructions;  // lines from 4 on
  const char* error;         // how it begins
};

class HloTextErrors : public ::testing::TestWithParam<Case> {};

TEST_P(HloTextErrors, SayWhere) {
  const std::string error = hlo_text_error(hlo_entry(GetParam().instructions));
  EXPECT_TRUE(error.starts_with(GetParam().error)) << error;
}

INSTANTIATE_TEST_SUITE_P(
    All, HloTextErrors,
    ::testing::Values(
        Case{"  ROOT x = f32[4 parameter(0)\n",
             "test.hlo:4:18: found 'parameter', expected ',' or ']'"},
        Case{"  ROOT x = float[4] parameter(0)\n",
             "test.hlo:4:12: found 'float', expected a shape"},
        Case{"  ROOT x = f32[-4] parameter(0)\n",
             "test.hlo:4:16: found '-', expected a dimension's size"},
        Case{"  ROOT x = f32[4,2]{0,0} parameter(0)\n",
             "test.hlo:4:20: this layout is no permutation of 2"},
        Case{"  ROOT x = f32[4] parameter(1)\n",
             "test.hlo:3:7: the parameters of computation \"main\""},
        Case{"  x = f32[4] parameter(0)\n  ROOT x = f32[4] abs(x)\n",
             "test.hlo:5:8: a second instruction is named \"x\""},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] abs(z)\n",
             "test.hlo:5:23: no instruction \"z\" stands before this"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] call(x), to_apply=f\n",
             "test.hlo:5:37: no computation \"f\" stands before this"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] abs(x), dimension={0}\n",
             "test.hlo:5:27: unknown attribute \"dimension\"\n  did you mean \"dimensions\"?"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] reverse(x), dimensions={0}, "
             "dimensions={0}\n",
             "test.hlo:5:47: attribute \"dimensions\" occurs twice"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] reverse(x), dimensions={a}\n",
             "test.hlo:5:43: found 'a', expected an integer"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[3] abs(x)\n",
             "test.hlo:5:8: abs \"y\": stablehlo.abs: result 0 has type"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] add(x)\n", "test.hlo:5:8: add \"y\""},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = pred[4] compare(x, x), direction=XX\n",
             "test.hlo:5:8: compare \"y\": \"XX\" is no direction of comparison"},
        Case{"  ROOT c = f32[2] constant({1, 2, 3})\n",
             "test.hlo:4:35: found '3', expected 2 elements in dimension 0 of tensor<2xf32>"},
        Case{"  ROOT c = f32[2] constant({1})\n", "test.hlo:4:31: found ')', expected 2 elements"},
        Case{"  ROOT c = f32[2] constant({1, x})\n", "test.hlo:4:32: found 'x', expected a number"},
        Case{"  ROOT c = s8[] constant(128)\n",
             "test.hlo:4:26: found '128', expected an integer of 8"},
        Case{"  ROOT c = f32[2] constant({...})\n",
             "test.hlo:4:28: the elements of this constant, tensor<2xf32>, were left out"},
        Case{"  ROOT x = f32[4] parameter(0), sharding={devices=[2,2]<=[5]}\n", "test.hlo"},
        Case{"  ROOT x = f32[4] parameter(0), sharding={devices=2}\n",
             "test.hlo:4:42, at character 10: found '2', expected '['"},
        Case{"  ROOT x = f32[4] parameter(0), sharding={replicated\n",
             "test.hlo:6:1: found the end of the text, expected an instruction or '}'"},
        Case{"  ROOT x = f32[4] parameter(0), metadata={op_name=\"a}\n",
             "test.hlo:4:51: this string has no end"},
        Case{"  x = f32[4,4] parameter(0)\n  ROOT y = f32[4] reduce-window(x, x), window={size=2x2 "
             "stride=1}\n",
             "test.hlo:5:57: 1 entries in a window of 2 dimensions"},
        Case{"  x = f32[4,4] parameter(0)\n  ROOT y = f32[4] reduce-window(x, x), "
             "window={size=0x2}\n",
             "test.hlo:5:48: size of 0 in this window"},
        Case{"  x = f32[4,4] parameter(0)\n  ROOT y = f32[4] reduce-window(x, x), "
             "window={height=2}\n",
             "test.hlo:5:48: a window has no \"height\""},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] convolution(x, x), "
             "dim_labels=b0_i0->bf\n",
             "test.hlo:5:49: these labels lack 'b', 'f' or a digit"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] convolution(x, x), "
             "dim_labels=b0f_io->b0f\n",
             "test.hlo:5:49: these labels give input, kernel and output different numbers"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] pad(x, x), padding=1\n",
             "test.hlo:6:1: found '}', expected '_' and the padding after the dimension"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] slice(x), slice={[0:4}\n",
             "test.hlo:5:40: found '}', expected ']'"},
        Case{
            "  x = f32[4] parameter(0)\n  ROOT y = f32[4] all-reduce(x), replica_groups=[4]<=[4]\n",
            "test.hlo:5:49: expected [number of groups, size of a group]"},
        Case{"  x = f32[4] parameter(0)\n  ROOT y = f32[4] all-gather(x), dimensions={0}, "
             "replica_groups=mesh['a'=2] {'b'}\n",
             "test.hlo:5:65, at character 14: the mesh has no axis 'b'"},
        Case{"  x = f32[<=4] parameter(0)\n  ROOT y = f32[<=4] abs(x)\n",
             "test.hlo:4:3: parameter \"x\": dimension 0 has a dynamic size"}));

TEST(HloTextError, UnsupportedOpsAreListedAtOnceWithTheirLines) {
  EXPECT_EQ(
      hlo_text_error(hlo_entry("  x = f32[4] parameter(0)\n"
                               "  a = f32[4] infeed(x), infeed_config=\"\", some_attribute={1}\n"
                               "  b = f32[4] infeed(a)\n"
                               "  c = f32[4] custom-call(b), custom_call_target=\"lapack_x\", "
                               "api_version=API_VERSION_ORIGINAL\n"
                               "  ROOT d = u1[4] convert(c), metadata={op_name=\"jit(f)/q\"}\n")),
      "test.hlo: 3 kinds of op are not supported:\n"
      "  custom-call \"lapack_x\" (1x, first \"c\" in line 7)\n"
      "  element type u1 (1x, first \"d\" in line 8 at jit(f)/q)\n"
      "  infeed (2x, first \"a\" in line 5)\n"
      "  other linear algebra (LU, QR, eigenvalues, singular values): StableHLO has no op for it: "
      "compute it outside of the step, or with Cholesky factors and triangular solves\n"
      "  express the program without them");
}

TEST(HloTextError, OptimisedModulesAreRefusedWithTheWayToTheOneBefore) {
  const std::string scheduled = hlo_text_error("HloModule m, is_scheduled=true\n\nENTRY e {\n}\n");
  EXPECT_TRUE(scheduled.starts_with("test.hlo:1:14: this module is scheduled")) << scheduled;
  EXPECT_NE(scheduled.find("before_optimizations"), scheduled.npos);
  for (const char* op :
       {"fusion(x), kind=kLoop, calls=f", "custom-call(x), custom_call_target=\"__cublas$gemm\"",
        "bitcast(x)", "all-reduce-start(x), to_apply=f"}) {
    const std::string error = hlo_text_error(
        "HloModule m\nf { p = f32[4] parameter(0) }\nENTRY e {\n  x = f32[4] parameter(0)\n  ROOT "
        "y = f32[4] " +
        std::string(op) + "\n}\n");
    EXPECT_NE(error.find("first \"y\" in line 5"), error.npos) << error;
    EXPECT_NE(error.find("before_optimizations"), error.npos) << error;
  }
}

TEST(HloTextError, HeadersAreChecked) {
  const std::string rest = "\nENTRY e { ROOT x = f32[4] parameter(0) }\n";
  EXPECT_EQ(hlo_text_error("HloModule m, num_partition=4" + rest),
            "test.hlo:1:14: unknown attribute \"num_partition\" of the module\n"
            "  did you mean \"num_partitions\"?");
  EXPECT_TRUE(hlo_text_error("HloModule m, num_partitions=0" + rest)
                  .starts_with("test.hlo:1:29: found '0', expected a number of devices"));
  EXPECT_TRUE(hlo_text_error("HloModule m, input_output_alias={ {0}: 0 }" + rest)
                  .starts_with("test.hlo:1:40: found '0', expected '('"));
  EXPECT_NE(hlo_text_error("HloModule m, input_output_alias={ {3}: (0, {}) }" + rest)
                .find("names a result that does not exist"),
            std::string::npos);
  EXPECT_TRUE(
      hlo_text_error("HloModule m").starts_with("test.hlo:1:12: found the end of the text"));
  EXPECT_TRUE(hlo_text_error("HloModule m\nENTRY a { ROOT x = f32[] parameter(0) }\nENTRY b { x = "
                             "f32[] parameter(0) }")
                  .starts_with("test.hlo:3:1: this is the second ENTRY computation"));
  EXPECT_TRUE(
      hlo_text_error("HloModule m\na { x = f32[] parameter(0) }\na { x = f32[] parameter(0) }")
          .starts_with("test.hlo:3:1: a second computation is named \"a\""));
  EXPECT_TRUE(
      hlo_text_error("HloModule m\na { }").starts_with("test.hlo:2:1: computation \"a\" has no"));
}

TEST(HloTextError, NestingIsBounded) {
  std::string shape;
  for (int i = 0; i < 100'000; ++i) shape += "(";
  EXPECT_NE(hlo_text_error(hlo_entry("  x = " + shape + "\n")).find("nested too deeply"),
            std::string::npos);
  std::string body, ones, braces;
  for (int i = 0; i < 10'000; ++i) {
    body += "{ a = f32[] parameter(0) b = f32[] call(a), to_apply=";
    ones += i == 0 ? "1" : ",1";
    braces += "{";
  }
  EXPECT_NE(hlo_text_error("HloModule m\ne " + body).find("nested too deeply"), std::string::npos);
  EXPECT_NE(hlo_text_error(hlo_entry("  x = f32[" + ones + "] constant(" + braces + "\n"))
                .find("found a tensor of 10000 dimensions\n  expected at most 64"),
            std::string::npos);
}

// Every prefix of a text, and the text with any byte changed, is read or refused.
TEST(HloTextError, DamagedTextsNeverDoMoreThanThrow) {
  std::ifstream file(std::string(SPMD_SOURCE_DIR) + "/tests/data/hlo_text/spellings.hlo.txt");
  std::stringstream whole;
  whole << file.rdbuf();
  const std::string text = whole.str();
  ASSERT_GT(text.size(), 5000u);
  const auto read = [](const std::string& damaged) {
    try {
      import_hlo_text(damaged, "test.hlo");
    } catch (const UserError& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("test.hlo")) << error.what();
    }
  };
  for (size_t size = 0; size < text.size(); size += 3) read(text.substr(0, size));
  constexpr std::string_view kBytes = "{}()[],=\"0-%x \xff";
  for (size_t at = 0; at < text.size(); at += 2) {
    std::string damaged = text;
    damaged[at] = kBytes[at / 2 % kBytes.size()];
    read(damaged);
  }
}

}  // namespace
}  // namespace spmd
