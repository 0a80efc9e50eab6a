// Steps done in pieces give what they give as a whole: bit by bit, on values whose sums are exact.
#include "runtime/device/cpu/pieces.h"

#include <gtest/gtest.h>

#include "tests/runtime/kernel_bench.h"

namespace spmd::cpu {
namespace {

class PiecesTest : public ::testing::Test {
 protected:
  float small_integer() { return static_cast<float>(bench_.pick(-3, 3)); }

  template <typename T = float>
  plan::View random_operand(const Dims& shape, plan::DType dtype = plan::F32) {
    return bench_.random_view<T>(dtype, shape, [&] { return static_cast<T>(small_integer()); });
  }

  std::vector<std::vector<std::byte>> run(const plan::Step& step, Workers& workers, int most) {
    LoadContext load;
    const KernelPtr kernel = make_side_by_side(pieces_of(step, most), workers, load);
    std::vector<std::vector<std::byte>> buffers = bench_.buffers;
    std::vector<std::byte*> table;
    for (auto& buffer : buffers) table.push_back(buffer.data());
    const std::unique_ptr<std::byte, decltype(&std::free)> workspace(
        static_cast<std::byte*>(
            std::aligned_alloc(64, static_cast<size_t>((load.workspace_bytes + 127) / 64 * 64))),
        &std::free);
    for (int repeat = 0; repeat < 2; ++repeat) kernel->run({table.data(), workspace.get()});
    return buffers;
  }

  // Checks that the step is cut into that many and means the same.
  void expect_same(const plan::Step& step, size_t pieces) {
    EXPECT_EQ(pieces_of(step, 3).size(), pieces) << step.ShortDebugString();
    EXPECT_TRUE(run(step, workers_, 3) == run(step, workers_, 1)) << step.ShortDebugString();
  }

  static plan::Step product(const Dims& batch, const Dims& m, const Dims& n, const Dims& k,
                            const plan::View& lhs, const plan::View& rhs, const plan::View& out) {
    plan::Step step;
    plan::Dot& dot = *step.mutable_dot();
    assign(dot.mutable_batch(), batch);
    assign(dot.mutable_m(), m);
    assign(dot.mutable_n(), n);
    assign(dot.mutable_k(), k);
    *dot.mutable_lhs() = lhs;
    *dot.mutable_rhs() = rhs;
    *dot.mutable_out() = out;
    dot.set_accumulation(plan::F32);
    return step;
  }
  plan::Step random_product(const Dims& batch, const Dims& m, const Dims& n, const Dims& k) {
    const auto join = [](const Dims& a, const Dims& b, const Dims& c) {
      Dims all = a;
      all.insert(all.end(), b.begin(), b.end());
      all.insert(all.end(), c.begin(), c.end());
      return all;
    };
    return product(batch, m, n, k, random_operand(join(batch, m, k)),
                   random_operand(join(batch, n, k)), random_operand(join(batch, m, n)));
  }

  KernelBench bench_;
  Workers workers_{3};
};

TEST_F(PiecesTest, Products) {
  for (int i = 0; i < 2; ++i) {
    expect_same(random_product({}, {200}, {120}, {100}), 3);
    expect_same(random_product({}, {1}, {2000}, {1200}), 3);
    expect_same(random_product({5}, {60}, {70}, {110}), 3);
    expect_same(random_product({2}, {110}, {110}, {100}), 3);
    expect_same(random_product({}, {7, 30}, {11, 10}, {10, 10}), 3);
  }
  expect_same(random_product({}, {2}, {2}, {600000}), 2);
  expect_same(random_product({}, {1}, {1}, {2300000}), 1);
  expect_same(random_product({}, {20}, {20}, {20}), 1);
}

// The cut repeats as little as it can: what is read by both pieces is the smaller operand.
TEST_F(PiecesTest, ProductsAreCutAlongTheLongerSide) {
  const plan::Step tall = random_product({}, {3000}, {20}, {40});
  EXPECT_EQ(pieces_of(tall, 2)[1].dot().m(0), 1500);
  const plan::Step wide = random_product({}, {20}, {3000}, {40});
  EXPECT_EQ(pieces_of(wide, 2)[1].dot().n(0), 1500);
  const plan::Step batches = random_product({3}, {20}, {3000}, {40});
  EXPECT_EQ(pieces_of(batches, 2)[0].dot().batch(0), 1);
  EXPECT_EQ(pieces_of(batches, 2)[1].dot().batch(0), 2);
}

// Operands of 16 bits are packed by each piece into memory of its own.
TEST_F(PiecesTest, ProductsOfBf16) {
  const auto bf16 = [](float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return static_cast<uint16_t>(bits >> 16);
  };
  const auto operand = [&](const Dims& shape) {
    return bench_.random_view<uint16_t>(plan::BF16, shape, [&] { return bf16(small_integer()); });
  };
  expect_same(
      product({}, {150}, {90}, {100}, operand({150, 100}), operand({90, 100}), operand({150, 90})),
      3);
}

TEST_F(PiecesTest, Convolutions) {
  const auto convolution = [&](const Dims& input, const Dims& kernel, const Dims& out, int64_t pad,
                               int64_t feature_groups, int64_t batch_groups) {
    plan::Step step;
    plan::Convolution& result = *step.mutable_convolution();
    *result.mutable_input() = random_operand(input);
    *result.mutable_kernel() = random_operand(kernel);
    *result.mutable_out() = random_operand(out);
    for (size_t d = 2; d < kernel.size(); ++d) {
      plan::Window& window = *result.mutable_window();
      window.add_size(kernel[d]);
      window.add_stride(1);
      window.add_base_dilation(1);
      window.add_window_dilation(1);
      window.add_pad_low(pad);
      window.add_pad_high(pad);
      window.add_reversal(false);
    }
    result.set_feature_groups(feature_groups);
    result.set_batch_groups(batch_groups);
    return step;
  };
  expect_same(convolution({7, 16, 16, 17}, {9, 16, 3, 3}, {7, 9, 16, 17}, 1, 1, 1), 3);
  // One image: its features are shared out.
  expect_same(convolution({1, 16, 24, 24}, {31, 16, 3, 3}, {1, 31, 24, 24}, 1, 1, 1), 3);
  expect_same(convolution({1, 16, 48, 48}, {32, 4, 3, 3}, {1, 32, 48, 48}, 1, 4, 1), 1);
  expect_same(convolution({6, 16, 24, 24}, {32, 4, 3, 3}, {6, 32, 24, 24}, 1, 4, 1), 3);
  expect_same(convolution({6, 16, 24, 24}, {32, 16, 3, 3}, {3, 32, 24, 24}, 1, 1, 2), 1);
  expect_same(convolution({2, 2, 8, 8}, {2, 2, 3, 3}, {2, 2, 8, 8}, 1, 1, 1), 1);
}

TEST_F(PiecesTest, Copies) {
  const auto copy = [&](const Dims& shape) {
    plan::Step step;
    plan::Elementwise& map = *step.mutable_elementwise();
    assign(map.mutable_shape(), shape);
    *map.add_inputs() = random_operand(shape);
    *map.add_outputs() = random_operand(shape);
    map.mutable_program()->add_inputs(plan::F32);
    map.mutable_program()->add_outputs(0);
    return step;
  };
  expect_same(copy({301, 257}), 3);
  expect_same(copy({1, 2, 70000}), 3);
  expect_same(copy({2, 1, 40000}), 3);
  expect_same(copy({100, 100}), 1);
}

// A step that has no pieces, and one that nobody shares.
TEST_F(PiecesTest, OtherStepsAreWhole) {
  plan::Step step;
  step.mutable_sort();
  EXPECT_EQ(pieces_of(step, 8).size(), 1u);
  EXPECT_EQ(pieces_of(random_product({}, {200}, {200}, {200}), 1).size(), 1u);
}

// 8,000,000 multiplications, at least 400,000 a piece.
TEST_F(PiecesTest, AreNotTooSmall) {
  EXPECT_EQ(pieces_of(random_product({}, {200}, {200}, {200}), 64).size(), 20u);
}

}  // namespace
}  // namespace spmd::cpu
