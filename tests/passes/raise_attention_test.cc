// Attention is found by what it computes, in the programs that people train and in other
// arrangements of the same arithmetic.
#include "passes/raise_attention.h"

#include "frontends/frontend.h"
#include "passes/dce.h"
#include "tests/passes/partition_testing.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

struct Layers {
  const char* program;  // in tests/data
  int forward, backward;
};

void PrintTo(const Layers& layers, std::ostream* out) { *out << layers.program; }

class RaisedPrograms : public ::testing::TestWithParam<Layers> {};

TEST_P(RaisedPrograms, EveryLayerIsFound) {
  const Layers& layers = GetParam();
  const Module module = partitioned_to(
      "raise_attention", import_file(std::string(SPMD_SOURCE_DIR "/tests/data/") + layers.program));
  EXPECT_EQ(count_ops(module, OpCode::kAttention), layers.forward);
  EXPECT_EQ(count_ops(module, OpCode::kAttentionBackward), layers.backward);
}

// The layers of llama_scan are loops: its forward pass is one, and its backward pass computes the
// forward pass again.
constexpr Layers kPrograms[] = {
    {"large/gpt2-124m-fsdp4.hlo.pb.gz", 12, 12}, {"large/gpt2-xl-dp1.hlo.pb.gz", 48, 48},
    {"large/gpt2-xl-fsdp2.hlo.pb.gz", 48, 48},   {"large/llama-7b-dp1-fwdbwd.hlo.pb.gz", 32, 32},
    {"large/llama-7b-fsdp2.hlo.pb.gz", 32, 32},  {"models/gpt_fsdp/model.hlo.pb", 2, 2},
    {"models/gpt_dp_tp/model.hlo.pb", 2, 2},     {"models/gpt_dp_tp/model.mlir", 2, 2},
    {"models/llama_scan/model.hlo.pb", 2, 1},    {"large/gpt2-xl-fsdp2-scan.hlo.pb.gz", 2, 1},
};
INSTANTIATE_TEST_SUITE_P(Programs, RaisedPrograms, ::testing::ValuesIn(kPrograms),
                         [](const auto& info) { return std::to_string(info.index); });

// ---- other arrangements

// Heads of queries and keys [batch, head, position, size], as PyTorch has them, and the parts of a
// layer that a test varies.
struct Arrangement {
  std::string scores = R"(
    %dot = stablehlo.dot_general %x0, %x1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>)";
  std::string mask = R"(
    %i = stablehlo.iota dim = 0 : tensor<4x4xi32>
    %j = stablehlo.iota dim = 1 : tensor<4x4xi32>
    %m = stablehlo.compare GE, %i, %j, SIGNED : (tensor<4x4xi32>, tensor<4x4xi32>) -> tensor<4x4xi1>
    %mask = stablehlo.broadcast_in_dim %m, dims = [2, 3] : (tensor<4x4xi1>) -> tensor<2x3x4x4xi1>
    %masked = stablehlo.select %mask, %scaled, %low : tensor<2x3x4x4xi1>, tensor<2x3x4x4xf32>)";
  std::string gradient = R"(
    %pd = stablehlo.multiply %d, %p : tensor<2x3x4x4xf32>
    %r = stablehlo.reduce(%pd init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %rb = stablehlo.broadcast_in_dim %r, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x4xf32>
    %c = stablehlo.subtract %d, %rb : tensor<2x3x4x4xf32>
    %pc = stablehlo.multiply %p, %c : tensor<2x3x4x4xf32>
    %ds = stablehlo.multiply %factor, %pc : tensor<2x3x4x4xf32>)";
  std::string output = R"(
    %out = stablehlo.dot_general %p, %x2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>)";
  std::string result = "%dq", first_result = "%out";
};

Module layer(const Arrangement& parts) {
  const std::string type = "tensor<2x3x4x8xf32>";
  return program(
      {type, type, type, type},
      R"(
    %zero = stablehlo.constant dense<0.0> : tensor<f32>
    %lowest = stablehlo.constant dense<0xFF800000> : tensor<f32>
    %factor = stablehlo.constant dense<0.25> : tensor<2x3x4x4xf32>
    %low = stablehlo.constant dense<-1.0e9> : tensor<2x3x4x4xf32>)" +
          parts.scores +
          R"(
    %scaled = stablehlo.multiply %factor, %dot : tensor<2x3x4x4xf32>)" +
          parts.mask + R"(
    %max = stablehlo.reduce(%masked init: %lowest) applies stablehlo.maximum across dimensions = [3] : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %maxb = stablehlo.broadcast_in_dim %max, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x4xf32>
    %shifted = stablehlo.subtract %masked, %maxb : tensor<2x3x4x4xf32>
    %e = stablehlo.exponential %shifted : tensor<2x3x4x4xf32>
    %l = stablehlo.reduce(%e init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %lb = stablehlo.broadcast_in_dim %l, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x4xf32>
    %p = stablehlo.divide %e, %lb : tensor<2x3x4x4xf32>
)" + parts.output +
          R"(
    %d = stablehlo.dot_general %x3, %x2, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>)" +
          parts.gradient +
          R"(
    %dq = stablehlo.dot_general %ds, %x1, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    %dk = stablehlo.dot_general %ds, %x0, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    %dv = stablehlo.dot_general %p, %x3, batching_dims = [0, 1] x [0, 1], contracting_dims = [2] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>
    return )" +
          parts.first_result + ", " + parts.result +
          R"(, %dk, %dv : tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>)");
}

// Raised, with equal values, and nothing of the size of the scores is left.
void expect_raised(const Arrangement& parts, bool causal = true) {
  const Module before = layer(parts);
  Module after = before.clone();
  EXPECT_TRUE(apply(raise_attention_pass(), after));
  apply(dce_pass(), after);
  EXPECT_EQ(count_ops(after, OpCode::kAttention), 1);
  EXPECT_EQ(count_ops(after, OpCode::kAttentionBackward), 1);
  EXPECT_EQ(count_ops(after, OpCode::kDotGeneral), 0);
  EXPECT_EQ(count_ops(after, OpCode::kExponential), 0);
  const std::string text = body_of(after);
  EXPECT_NE(text.find(causal ? "causal = true, scale = 0.25" : "causal = false, scale = 0.25"),
            std::string::npos)
      << text;
  expect_same_values(before, after, 2e-6);
}

void expect_not_raised(const Arrangement& parts) {
  Module module = layer(parts);
  EXPECT_FALSE(apply(raise_attention_pass(), module)) << body_of(module);
}

TEST(RaiseAttention, ProbabilitiesTimesCentredGradients) { expect_raised({}); }

TEST(RaiseAttention, TheQuotientRuleOfASoftmax) {
  Arrangement parts;
  parts.gradient = R"(
    %one = stablehlo.constant dense<1.0> : tensor<2x3x4xf32>
    %ll = stablehlo.multiply %l, %l : tensor<2x3x4xf32>
    %inv = stablehlo.divide %one, %ll : tensor<2x3x4xf32>
    %invb = stablehlo.broadcast_in_dim %inv, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x4xf32>
    %di = stablehlo.multiply %d, %invb : tensor<2x3x4x4xf32>
    %die = stablehlo.multiply %e, %di : tensor<2x3x4x4xf32>
    %r = stablehlo.reduce(%die init: %zero) applies stablehlo.add across dimensions = [3] : (tensor<2x3x4x4xf32>, tensor<f32>) -> tensor<2x3x4xf32>
    %n = stablehlo.negate %r : tensor<2x3x4xf32>
    %nb = stablehlo.broadcast_in_dim %n, dims = [0, 1, 2] : (tensor<2x3x4xf32>) -> tensor<2x3x4x4xf32>
    %dl = stablehlo.divide %d, %lb : tensor<2x3x4x4xf32>
    %sum = stablehlo.add %nb, %dl : tensor<2x3x4x4xf32>
    %se = stablehlo.multiply %sum, %e : tensor<2x3x4x4xf32>
    %clear = stablehlo.constant dense<0.0> : tensor<2x3x4x4xf32>
    %sel = stablehlo.select %mask, %se, %clear : tensor<2x3x4x4xi1>, tensor<2x3x4x4xf32>
    %ds = stablehlo.multiply %sel, %factor : tensor<2x3x4x4xf32>)";
  expect_raised(parts);
}

// As a scan's backward pass that computes the probabilities again.
TEST(RaiseAttention, ABackwardPassAlone) {
  Arrangement parts;
  parts.output = "";
  parts.first_result = "%dq";
  expect_raised(parts);
}

TEST(RaiseAttention, WithoutAMask) {
  Arrangement parts;
  parts.mask = R"(
    %masked = stablehlo.reshape %scaled : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>)";
  expect_raised(parts, /*causal=*/false);
}

TEST(RaiseAttention, KeysOnTheLeftAndAMaskOfWhatIsHidden) {
  Arrangement parts;
  parts.scores = R"(
    %kq = stablehlo.dot_general %x1, %x0, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [3] : (tensor<2x3x4x8xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x4xf32>
    %dot = stablehlo.transpose %kq, dims = [0, 1, 3, 2] : (tensor<2x3x4x4xf32>) -> tensor<2x3x4x4xf32>)";
  parts.mask = R"(
    %n = stablehlo.iota dim = 0 : tensor<4xi32>
    %i = stablehlo.broadcast_in_dim %n, dims = [2] : (tensor<4xi32>) -> tensor<2x3x4x4xi32>
    %j = stablehlo.broadcast_in_dim %n, dims = [3] : (tensor<4xi32>) -> tensor<2x3x4x4xi32>
    %hidden = stablehlo.compare LT, %i, %j, SIGNED : (tensor<2x3x4x4xi32>, tensor<2x3x4x4xi32>) -> tensor<2x3x4x4xi1>
    %masked = stablehlo.select %hidden, %low, %scaled : tensor<2x3x4x4xi1>, tensor<2x3x4x4xf32>)";
  expect_raised(parts);
}

// ---- what is something else

TEST(RaiseAttention, NotWhenAQueryDoesNotSeeItself) {
  Arrangement parts;
  parts.mask.replace(parts.mask.find("GE"), 2, "GT");
  expect_not_raised(parts);
}

TEST(RaiseAttention, NotWhenQueriesSeeLaterKeys) {
  Arrangement parts;
  parts.mask.replace(parts.mask.find("GE"), 2, "LE");
  expect_not_raised(parts);
}

TEST(RaiseAttention, NotWhenAMaskAddsLittle) {
  Arrangement parts;
  parts.mask.replace(parts.mask.find("%low :"), 6, "%factor :");
  expect_not_raised(parts);
}

TEST(RaiseAttention, NotWhenTheGradientIsAnother) {
  Arrangement parts;
  parts.gradient.replace(parts.gradient.find("subtract"), 8, "add");
  expect_not_raised(parts);
}

TEST(RaiseAttention, NotWhenTheGradientHasAnotherScale) {
  Arrangement parts;
  parts.gradient.replace(parts.gradient.find("%factor, %pc"), 12, "%pc, %pc");
  expect_not_raised(parts);
}

// They would be computed for it anyhow.
TEST(RaiseAttention, NotWhenProbabilitiesAreAResult) {
  Arrangement parts;
  parts.gradient += R"(
    %sum4 = stablehlo.dot_general %p, %x0, batching_dims = [0, 1] x [0, 1], contracting_dims = [3] x [2] : (tensor<2x3x4x4xf32>, tensor<2x3x4x8xf32>) -> tensor<2x3x4x8xf32>)";
  parts.result = "%sum4";
  expect_not_raised(parts);
}

}  // namespace
}  // namespace spmd::testing
