#include <gtest/gtest.h>

#include <algorithm>

#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

TEST(DynamicSlice, ClampsItsStart) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    KernelBench bench(seed);
    const Dims shape{7, 9, 4}, sizes{3, 9, 2};
    const auto draw = [&] { return bench.uniform(); };
    const plan::View in = bench.random_view<float>(plan::F32, shape, draw),
                     out = bench.random_view<float>(plan::F32, sizes, draw);
    plan::Step step;
    auto* slice = step.mutable_dynamic_slice();
    *slice->mutable_operand() = in;
    *slice->mutable_out() = out;
    Dims start;
    for (size_t d = 0; d < 3; ++d) {
      start.push_back(bench.pick(-3, 12));
      *slice->add_starts() = bench.scalar(plan::S32, static_cast<int32_t>(start[d]));
      start[d] = std::clamp<int64_t>(start[d], 0, shape[d] - sizes[d]);
    }
    bench.run(step);
    for_each_index(sizes, [&](const Dims& i) {
      ASSERT_EQ(bench.at<float>(out, i),
                bench.at<float>(in, {start[0] + i[0], start[1] + i[1], start[2] + i[2]}));
    });
  }
}

TEST(DynamicUpdateSlice, CopiesTheRestUnlessInPlace) {
  for (bool in_place : {false, true}) {
    KernelBench bench;
    std::vector<float> base(12);
    for (size_t i = 0; i < 12; ++i) base[i] = static_cast<float>(i);
    const plan::View in = bench.dense(plan::F32, {3, 4}, base);
    const plan::View out = in_place ? in : bench.dense(plan::F32, {3, 4}, std::vector<float>(12));
    plan::Step step;
    auto* update = step.mutable_dynamic_update_slice();
    *update->mutable_operand() = in;
    *update->mutable_update() = bench.dense(plan::F32, {1, 2}, std::vector<float>{70, 80});
    *update->add_starts() = bench.scalar(plan::S64, int64_t{1});
    *update->add_starts() = bench.scalar(plan::U32, uint32_t{9});  // clamped to 2
    *update->mutable_out() = out;
    bench.run(step);
    for_each_index({3, 4}, [&](const Dims& i) {
      float want = static_cast<float>(i[0] * 4 + i[1]);
      if (i == Dims{1, 2}) want = 70;
      if (i == Dims{1, 3}) want = 80;
      ASSERT_EQ(bench.at<float>(out, i), want);
    });
  }
}

TEST(Gather, RowsOfATable) {
  KernelBench bench(2);
  const auto draw = [&] { return bench.uniform(); };
  const plan::View table = bench.random_view<float>(plan::F32, {10, 6}, draw);
  const plan::View ids =
      bench.dense(plan::S32, {2, 3, 1}, std::vector<int32_t>{0, 9, 4, -5, 3, 100});
  const plan::View out = bench.random_view<float>(plan::F32, {2, 3, 6}, draw);
  plan::Step step;
  auto* gather = step.mutable_gather();
  *gather->mutable_operand() = table;
  *gather->mutable_indices() = ids;
  *gather->mutable_out() = out;
  assign(gather->mutable_offset_dims(), {2});
  assign(gather->mutable_collapsed_slice_dims(), {0});
  assign(gather->mutable_start_index_map(), {0});
  gather->set_index_vector_dim(2);
  assign(gather->mutable_slice_sizes(), {1, 6});
  bench.run(step);
  for_each_index({2, 3, 6}, [&](const Dims& i) {
    const int64_t row = std::clamp<int64_t>(bench.at<int32_t>(ids, {i[0], i[1], 0}), 0, 9);
    ASSERT_EQ(bench.at<float>(out, i), bench.at<float>(table, {row, i[2]}));
  });
}

// take_along_axis: batching dimensions, an implicit index vector.
TEST(Gather, BatchingDimensions) {
  KernelBench bench(3);
  const auto draw = [&] { return bench.uniform(); };
  const plan::View operand = bench.random_view<float>(plan::F32, {4, 7}, draw);
  const plan::View ids =
      bench.random_view<int64_t>(plan::S64, {4, 5}, [&] { return bench.pick(0, 6); });
  const plan::View out = bench.random_view<float>(plan::F32, {4, 5}, draw);
  plan::Step step;
  auto* gather = step.mutable_gather();
  *gather->mutable_operand() = operand;
  *gather->mutable_indices() = ids;
  *gather->mutable_out() = out;
  assign(gather->mutable_collapsed_slice_dims(), {1});
  assign(gather->mutable_operand_batching_dims(), {0});
  assign(gather->mutable_start_indices_batching_dims(), {0});
  assign(gather->mutable_start_index_map(), {1});
  gather->set_index_vector_dim(2);
  assign(gather->mutable_slice_sizes(), {1, 1});
  bench.run(step);
  for_each_index({4, 5}, [&](const Dims& i) {
    ASSERT_EQ(bench.at<float>(out, i), bench.at<float>(operand, {i[0], bench.at<int64_t>(ids, i)}));
  });
}

TEST(Scatter, AddsRowsAndSkipsWhatIsOutside) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    KernelBench bench(seed);
    bench.repeat = false;
    const auto draw = [&] { return static_cast<float>(bench.pick(-9, 9)); };
    const plan::View in = bench.random_view<float>(plan::F32, {5, 1500}, draw),
                     updates = bench.random_view<float>(plan::F32, {6, 1500}, draw),
                     out = bench.random_view<float>(plan::F32, {5, 1500}, draw);
    const std::vector<int32_t> rows{1, 3, 1, 7, -1, 0};
    plan::Step step;
    auto* scatter = step.mutable_scatter();
    *scatter->add_operands() = in;
    *scatter->mutable_indices() = bench.dense(plan::S32, {6, 1}, rows);
    *scatter->add_updates() = updates;
    *scatter->add_outs() = out;
    assign(scatter->mutable_update_window_dims(), {1});
    assign(scatter->mutable_inserted_window_dims(), {0});
    assign(scatter->mutable_scatter_dims_to_operand_dims(), {0});
    scatter->set_index_vector_dim(1);
    scatter->set_op(plan::ADD);
    bench.run(step);
    for_each_index({5, 1500}, [&](const Dims& i) {
      float want = bench.at<float>(in, i);
      for (size_t u = 0; u < rows.size(); ++u)
        if (rows[u] == i[0]) want += bench.at<float>(updates, {static_cast<int64_t>(u), i[1]});
      ASSERT_EQ(bench.at<float>(out, i), want);
    });
  }
}

// Overwriting, with windows that reach over the edge and a later update winning.
TEST(Scatter, ReplacesInOrder) {
  KernelBench bench;
  const plan::View in = bench.dense(plan::S32, {6}, std::vector<int32_t>{0, 1, 2, 3, 4, 5});
  const plan::View updates =
      bench.dense(plan::S32, {3, 2}, std::vector<int32_t>{10, 11, 20, 21, 30, 31});
  const plan::View out = bench.dense(plan::S32, {6}, std::vector<int32_t>(6));
  plan::Step step;
  auto* scatter = step.mutable_scatter();
  *scatter->add_operands() = in;
  *scatter->mutable_indices() = bench.dense(plan::S32, {3, 1}, std::vector<int32_t>{2, 3, 5});
  *scatter->add_updates() = updates;
  *scatter->add_outs() = out;
  assign(scatter->mutable_update_window_dims(), {1});
  assign(scatter->mutable_scatter_dims_to_operand_dims(), {0});
  scatter->set_index_vector_dim(1);
  Scalars s;
  s.input(plan::S32);
  s.returns({s.input(plan::S32)});
  *scatter->mutable_program() = s.program;
  bench.run(step);
  const int32_t want[] = {0, 1, 10, 20, 21, 30};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(bench.at<int32_t>(out, {i}), want[i]) << i;
}

}  // namespace
}  // namespace spmd::cpu
