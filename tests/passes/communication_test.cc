// What the exported programs send on their own meshes: asserted, so that communication never grows
// by accident.
#include "frontends/frontend.h"
#include "gtest/gtest.h"
#include "passes/compile.h"

namespace spmd::testing {
namespace {

struct Budget {
  const char* program;
  int64_t bytes;      // sent per rank and step; an upper bound
  int64_t xla_bytes;  // what XLA's partitioner sends for the same step
  double fraction;    // of xla_bytes, at most
  int64_t full_rematerializations = 0;
};

const Budget kBudgets[] = {
    {"gpt_fsdp", 717324, 1224558, 0.65},   {"gpt_dp_tp", 1237300, 1955640, 0.70},
    {"llama_scan", 653700, 4573188, 0.26}, {"gru_scan", 189572, 1360644, 0.18},
    {"moe", 397110, 505392, 0.85},         {"digits_cnn", 17346, 54210, 0.35},
    {"digits_mlp", 304962, 304962, 1.0},   {"dropout_mlp", 304962, 304962, 1.0},
    {"ring_shard_map", 26310, 26310, 1.0},
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
  EXPECT_LE(text.full_rematerializations, budget.full_rematerializations);
  // The same program in the other format is the same program.
  const CompileResult proto = partitioned(budget.program, "model.hlo.pb");
  EXPECT_EQ(total_bytes_sent(proto.collectives), sent);
  EXPECT_EQ(proto.full_rematerializations, text.full_rematerializations);
}

INSTANTIATE_TEST_SUITE_P(Programs, Communication, ::testing::ValuesIn(kBudgets),
                         [](const auto& info) { return std::string(info.param.program); });

}  // namespace
}  // namespace spmd::testing
