#include <gtest/gtest.h>

#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

plan::Step rng_step(KernelBench& bench, plan::RngBitGenerator::Algorithm algorithm,
                    std::vector<uint64_t> state, const plan::View& out) {
  plan::Step step;
  auto* rng = step.mutable_rng_bit_generator();
  rng->set_algorithm(algorithm);
  const auto words = static_cast<int64_t>(state.size());
  *rng->mutable_state() = bench.dense(plan::U64, {words}, state);
  *rng->mutable_state_out() = bench.dense(plan::U64, {words}, std::vector<uint64_t>(state.size()));
  *rng->mutable_out() = out;
  return step;
}

// The known answers of Random123 for a zero key and counter.
TEST(Rng, KnownAnswers) {
  KernelBench bench;
  const plan::View a = bench.dense(plan::U32, {2}, std::vector<uint32_t>(2));
  const plan::Step threefry = rng_step(bench, plan::RngBitGenerator::THREE_FRY, {0, 0}, a);
  bench.run(threefry);
  EXPECT_EQ(bench.at<uint32_t>(a, {0}), 0x6b200159u);
  EXPECT_EQ(bench.at<uint32_t>(a, {1}), 0x99ba4efeu);
  EXPECT_EQ(bench.at<uint64_t>(threefry.rng_bit_generator().state_out(), {1}), 1u);

  const plan::View b = bench.dense(plan::U32, {5}, std::vector<uint32_t>(5));
  const plan::Step philox = rng_step(bench, plan::RngBitGenerator::PHILOX, {0, 0, 0}, b);
  bench.run(philox);
  const uint32_t want[] = {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u};
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(bench.at<uint32_t>(b, {i}), want[i]);
  EXPECT_EQ(bench.at<uint64_t>(philox.rng_bit_generator().state_out(), {1}), 2u);
}

TEST(Rng, StridedAndWide) {
  KernelBench bench;
  const plan::View out =
      KernelBench::view(bench.add(std::vector<uint64_t>(12)), plan::U64, {3, 2}, {1, 4});
  bench.run(rng_step(bench, plan::RngBitGenerator::THREE_FRY, {0, 0}, out));
  EXPECT_EQ(bench.at<uint64_t>(out, {0, 0}), 0x99ba4efe6b200159u);
}

}  // namespace
}  // namespace spmd::cpu
