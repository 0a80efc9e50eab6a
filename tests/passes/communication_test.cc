// What the exported programs send on their own meshes: asserted, so that communication never grows
// by accident.
#include "frontends/frontend.h"
#include "gtest/gtest.h"
#include "passes/compile.h"

namespace spmd::testing {
namespace {

// Bytes that a rank of n sends for a collective on `bytes` in all, as cost_model.h counts them.
constexpr int64_t gathered(int64_t n, int64_t bytes) { return (n - 1) * bytes / n; }
constexpr int64_t scattered(int64_t n, int64_t bytes) { return gathered(n, bytes); }
constexpr int64_t all_reduced(int64_t n, int64_t bytes) { return 2 * (n - 1) * bytes / n; }

constexpr int64_t kF32 = 4, kS32 = 4, kBf16 = 2, kBool = 1;

// An MLP of 64-256-128-10, data parallel on 4: its gradients and the loss, reduced once.
constexpr int64_t mlp() {
  constexpr int64_t kParameters = 64 * 256 + 256 + 256 * 128 + 128 + 128 * 10 + 10;
  return all_reduced(4, (kParameters + 1) * kF32);
}

// A convolutional net, data parallel on 4: its gradients (two kernels, one with a bias, batch
// normalisation, a dense layer), the loss, and what normalisation sums over the batch: mean and
// mean of squares forward, the mean's gradient backward, of 16 channels each.
constexpr int64_t cnn() {
  constexpr int64_t kParameters = 3 * 3 * 16 + 3 * 3 * 8 * 32 + 32 + 2 * 16 + 32 * 10 + 10;
  return all_reduced(4, (kParameters + 1 + 3 * 16) * kF32);
}

constexpr int64_t kGptParameters =
    256 * 64 + 48 * 64 + 2 * 64 +
    2 * (64 * 192 + 192 + 64 * 64 + 64 + 64 * 256 + 256 + 256 * 64 + 64 + 4 * 64);

// A GPT, fully sharded on 4: each parameter gathered once and its gradient scattered once; the loss
// and the norm for clipping.
constexpr int64_t gpt_fsdp() {
  return gathered(4, kGptParameters * kF32) + scattered(4, kGptParameters * kF32) +
         2 * all_reduced(4, kF32);
}

// The same on data=2, model=2, in Megatron's way.
constexpr int64_t gpt_dp_tp() {
  constexpr int64_t kTokens = 16 / 2 * 48;  // of a rank
  // Forward twice a layer, backward twice a layer and once before the head.
  constexpr int64_t kActivations = 9 * all_reduced(2, kTokens * 64 * kF32);
  // The embedding is looked up in the whole table, and its gradient made from all tokens.
  constexpr int64_t kEmbedding = gathered(2, 256 * 64 * kF32) + gathered(2, 2 * kTokens * kS32);
  // A cross-entropy over a cut vocabulary: largest logit, sum, the label's logit.
  constexpr int64_t kLoss = 3 * all_reduced(2, kTokens * kF32) + all_reduced(2, kF32);
  constexpr int64_t kCut = 256 * 64 + 2 * (64 * 192 + 192 + 64 * 64 + 64 * 256 + 256 + 256 * 64);
  constexpr int64_t kGradients = all_reduced(2, (kCut / 2 + kGptParameters - kCut) * kF32);
  // A rank's thirds of a fused qkv are others than those of q, k and v: of three blocks of 32
  // columns and biases two change places, forward and backward in each layer.
  constexpr int64_t kQkv = 2 * 2 * 2 * (64 * 32 + 32) * kF32;
  // Squares of the gradients that are cut, for clipping, are added by one number each.
  constexpr int64_t kNorm = 12 * all_reduced(2, kF32);
  return kActivations + kEmbedding + kLoss + kGradients + kQkv + kNorm;
}

// A Llama of 3 layers on fsdp=2, model=2, in bf16, whose layers are recomputed in the backward
// pass.
constexpr int64_t llama_scan() {
  constexpr int64_t kTokens = 8 / 2 * 48;  // of a rank
  // Two a layer forward, the first one again in the backward pass, two backward; one for the head.
  constexpr int64_t kActivations = (5 * 3 + 1) * all_reduced(2, kTokens * 64 * kBf16);
  // A rank's half of a layer: gathered for each pass, the gradient scattered.
  constexpr int64_t kLayer = 3 * 64 * 176 / 2 + 2 * 64 * 64 / 2 + 2 * 64 * 32 / 2;
  constexpr int64_t kLayers = 3 * (2 * gathered(2, kLayer * kBf16) + scattered(2, kLayer * kBf16));
  constexpr int64_t kHead = gathered(2, 64 * 128 * kBf16) + scattered(2, 64 * 128 * kBf16);
  // The embedding is looked up in the whole table, and its gradient made from all tokens.
  constexpr int64_t kEmbedding = gathered(2, 256 * 64 * kBf16) + gathered(2, 256 * 32 * kBf16) +
                                 scattered(2, 256 * 32 * kBf16) + gathered(2, 2 * kTokens * kS32);
  constexpr int64_t kLoss = 3 * all_reduced(2, kTokens * kF32) + all_reduced(2, kF32);
  constexpr int64_t kScales = all_reduced(2, (3 * 2 * 64 + 64) * kBf16);
  return kActivations + kLayers + kHead + kEmbedding + kLoss + kScales;
}

// A GRU in a scan, data parallel on 2: one reduction a weight, after the loop. The embedding's
// gradient is made of all tokens' gradients, which are fewer than the table's rows.
constexpr int64_t gru_scan() {
  constexpr int64_t kWeights = 64 * 256 + 2 * 64 * 192 + 192;
  constexpr int64_t kTokens = 8 * 24;  // of all ranks
  return all_reduced(2, (kWeights + 1) * kF32) + gathered(2, kTokens * (64 * kF32 + kS32));
}

// A mixture of 4 experts, one a rank, each with room for 96 of 256 tokens: tokens are gathered for
// the experts and what they give is scattered, forward and backward.
constexpr int64_t moe() {
  constexpr int64_t kTokens = 8 * 32, kRoom = 4 * 96;
  constexpr int64_t kDispatch =
      gathered(4, kTokens * 64 * kF32) + scattered(4, kTokens * 64 * kF32);
  constexpr int64_t kCombine = gathered(4, kRoom * 64 * kF32) + scattered(4, kRoom * 64 * kF32);
  // Places in the experts' queues are counted over all tokens' two choices.
  constexpr int64_t kQueues = gathered(4, kTokens * 2 * 4 * kBool);
  constexpr int64_t kEmbedding = gathered(4, kTokens * (64 * kF32 + kS32));
  // Gradients of head and router; the load of each expert and its probability; the loss.
  constexpr int64_t kReduced = all_reduced(4, (64 * 256 + 64 * 4 + 2 * 4 + 1) * kF32);
  return kDispatch + kCombine + kQueues + kEmbedding + kReduced;
}

// A ring of 4 as the file writes it: blocks of x go round in 3 steps, the gradient of w is reduced
// for each of the 4 blocks, that of v and the loss once.
constexpr int64_t ring() {
  return 3 * (16 / 4 * 32 * kF32) + all_reduced(4, (4 * 32 * 32 + 32 + 1) * kF32);
}

struct Budget {
  const char* program;
  int64_t bytes;      // sent per rank and step, at most; derived by hand
  int64_t xla_bytes;  // what XLA's partitioner sends for the same step
  double fraction;    // of xla_bytes that is required, at most
};

const Budget kBudgets[] = {
    {"gpt_fsdp", gpt_fsdp(), 1224558, 0.65},
    {"gpt_dp_tp", gpt_dp_tp(), 1955640, 0.70},
    {"llama_scan", llama_scan(), 4573188, 0.26},
    {"gru_scan", gru_scan(), 1360644, 0.18},
    {"moe", moe(), 505392, 0.85},
    {"digits_cnn", cnn(), 54210, 0.35},
    {"digits_mlp", mlp(), 304962, 1.0},
    {"dropout_mlp", mlp(), 304962, 1.0},
    {"ring_shard_map", ring(), 26310, 1.0},
};

CompileResult partitioned(const std::string& program, const char* file) {
  return partition(
      import_file(std::string(SPMD_SOURCE_DIR "/tests/data/models/") + program + "/" + file));
}

class Communication : public ::testing::TestWithParam<Budget> {};

TEST_P(Communication, StaysWithinItsBudget) {
  const Budget& budget = GetParam();
  const CompileResult text = partitioned(budget.program, "model.mlir");
  const int64_t sent = total_bytes_sent(text.collectives);
  EXPECT_LE(sent, budget.bytes);
  EXPECT_LE(static_cast<double>(sent), budget.fraction * static_cast<double>(budget.xla_bytes));
  EXPECT_EQ(text.full_rematerializations, 0);
  // The same program in the other format is the same program.
  const CompileResult proto = partitioned(budget.program, "model.hlo.pb");
  EXPECT_EQ(total_bytes_sent(proto.collectives), sent);
  EXPECT_EQ(proto.full_rematerializations, 0);
}

INSTANTIATE_TEST_SUITE_P(Programs, Communication, ::testing::ValuesIn(kBudgets),
                         [](const auto& info) { return std::string(info.param.program); });

}  // namespace
}  // namespace spmd::testing
