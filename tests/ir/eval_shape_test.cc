#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Doubles = std::vector<double>;
using Ints = std::vector<int64_t>;

TEST(EvalShape, BroadcastInDim) {
  const Literal row = f32({3}, {1, 2, 3});
  EXPECT_EQ(doubles(apply_to(OpCode::kBroadcastInDim, {row}, {DType::kF32, {2, 3}},
                             BroadcastInDimAttrs{{1}})),
            (Doubles{1, 2, 3, 1, 2, 3}));
  EXPECT_EQ(doubles(apply_to(OpCode::kBroadcastInDim, {row}, {DType::kF32, {3, 2}},
                             BroadcastInDimAttrs{{0}})),
            (Doubles{1, 1, 2, 2, 3, 3}));
  // Dimensions may be permuted, and those of size 1 stretch.
  EXPECT_EQ(doubles(apply_to(OpCode::kBroadcastInDim, {f32({1, 2}, {5, 6})}, {DType::kF32, {2, 3}},
                             BroadcastInDimAttrs{{1, 0}})),
            (Doubles{5, 5, 5, 6, 6, 6}));
  EXPECT_EQ(doubles(apply_to(OpCode::kBroadcastInDim, {f32({1}, {5})}, {DType::kF32, {0}},
                             BroadcastInDimAttrs{{0}})),
            Doubles{});
}

TEST(EvalShape, TransposeReverseSlice) {
  const Literal x = counting({2, 3});
  EXPECT_EQ(doubles(apply(OpCode::kTranspose, {x}, TransposeAttrs{{1, 0}})),
            (Doubles{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(doubles(apply(OpCode::kReverse, {x}, ReverseAttrs{{1}})), (Doubles{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(doubles(apply(OpCode::kReverse, {x}, ReverseAttrs{{0, 1}})),
            (Doubles{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(doubles(apply(OpCode::kSlice, {counting({7})}, SliceAttrs{{1}, {7}, {3}})),
            (Doubles{1, 4}));
  EXPECT_EQ(doubles(apply(OpCode::kSlice, {x}, SliceAttrs{{0, 1}, {2, 3}, {1, 1}})),
            (Doubles{1, 2, 4, 5}));
  const Literal cube = counting({2, 3, 4});
  const Literal turned = apply(OpCode::kTranspose, {cube}, TransposeAttrs{{2, 0, 1}});
  EXPECT_EQ(turned.type().shape, (Dims{4, 2, 3}));
  EXPECT_EQ(turned.as_double(1 * 6 + 1 * 3 + 2), 1 * 12 + 2 * 4 + 1);
}

TEST(EvalShape, PadLowHighInterior) {
  const Literal x = f32({3}, {1, 2, 3}), zero = f32({}, {9});
  const auto padded = [&](int64_t low, int64_t high, int64_t interior) {
    return doubles(apply(OpCode::kPad, {x, zero}, PadAttrs{{low}, {high}, {interior}}));
  };
  EXPECT_EQ(padded(1, 2, 0), (Doubles{9, 1, 2, 3, 9, 9}));
  EXPECT_EQ(padded(0, 0, 1), (Doubles{1, 9, 2, 9, 3}));
  EXPECT_EQ(padded(-1, 0, 0), (Doubles{2, 3}));
  EXPECT_EQ(padded(0, -2, 0), (Doubles{1}));
  EXPECT_EQ(padded(-1, 1, 1), (Doubles{9, 2, 9, 3, 9}));
  EXPECT_EQ(padded(-2, -1, 1), (Doubles{2, 9}));
  EXPECT_EQ(padded(-3, 2, 0), (Doubles{9, 9}));
  EXPECT_EQ(padded(2, -4, 0), (Doubles{9}));
  EXPECT_EQ(padded(-3, 0, 0), Doubles{});
}

TEST(EvalShape, PadOfNothing) {
  EXPECT_EQ(doubles(apply(OpCode::kPad, {f32({0}, {}), f32({}, {7})}, PadAttrs{{1}, {1}, {3}})),
            (Doubles{7, 7}));
}

TEST(EvalShape, ConcatenateSkipsEmptyParts) {
  EXPECT_EQ(doubles(apply(OpCode::kConcatenate,
                          {f32({2, 1}, {1, 2}), f32({2, 0}, {}), f32({2, 2}, {3, 4, 5, 6})},
                          ConcatenateAttrs{1})),
            (Doubles{1, 3, 4, 2, 5, 6}));
}

TEST(EvalShape, IotaAndReshape) {
  EXPECT_EQ(ints(apply_to(OpCode::kIota, {}, {DType::kS32, {2, 3}}, IotaAttrs{1})),
            (Ints{0, 1, 2, 0, 1, 2}));
  EXPECT_EQ(doubles(apply_to(OpCode::kIota, {}, {DType::kBF16, {3, 2}}, IotaAttrs{0})),
            (Doubles{0, 0, 1, 1, 2, 2}));
  EXPECT_EQ(ints(apply_to(OpCode::kIota, {}, {DType::kS32, {1}}, IotaAttrs{0})), Ints{0});
  const Literal x = apply_to(OpCode::kReshape, {counting({2, 3})}, {DType::kF32, {3, 2}});
  EXPECT_EQ(doubles(x), (Doubles{0, 1, 2, 3, 4, 5}));
}

TEST(EvalShape, BitcastConvert) {
  EXPECT_EQ(ints(apply_to(OpCode::kBitcastConvert, {f32({1}, {1})}, {DType::kS32, {1}})),
            Ints{0x3f800000});
  // To a narrower type the bytes become a last dimension, least significant first.
  EXPECT_EQ(ints(apply_to(OpCode::kBitcastConvert, {numbers(DType::kU32, {0x01020304})},
                          {DType::kU8, {1, 4}})),
            (Ints{4, 3, 2, 1}));
  EXPECT_EQ(ints(apply_to(OpCode::kBitcastConvert,
                          {Literal::of<uint8_t>({DType::kU8, {1, 4}}, {4, 3, 2, 1})},
                          {DType::kU32, {1}})),
            Ints{0x01020304});
  EXPECT_EQ(
      ints(apply_to(OpCode::kBitcastConvert, {numbers(DType::kU8, {0xf1})}, {DType::kS4, {1, 2}})),
      (Ints{1, -1}));
  EXPECT_EQ(ints(apply_to(OpCode::kBitcastConvert,
                          {Literal::of<int8_t>({DType::kS4, {1, 2}}, {1, -1})}, {DType::kU8, {1}})),
            Ints{0xf1});
}

}  // namespace
}  // namespace spmd::testing
