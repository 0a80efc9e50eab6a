// Against the known answers that the generators' authors publish with Random123.
#include "support/error.h"
#include "tests/ir/eval_testing.h"

namespace spmd::testing {
namespace {

using Words = std::vector<uint64_t>;

struct Bits {
  Words state;
  Literal values;
};

Bits generated(RngAlgorithm algorithm, const Words& state, TensorType type) {
  Program p;
  const TensorType state_type{DType::kU64, {static_cast<int64_t>(state.size())}};
  const ValueId initial = p.argument(Literal::of<uint64_t>(state_type, state));
  const OpId op = p.b.create(OpCode::kRngBitGenerator, {initial}, {state_type, std::move(type)},
                             RngBitGeneratorAttrs{algorithm});
  const auto results = p.run(p.fn.op(op).results);
  const auto* words = results[0].as<uint64_t>();
  return {Words(words, words + state.size()), results[1]};
}

std::vector<uint32_t> words32(const Literal& x) {
  return {x.as<uint32_t>(), x.as<uint32_t>() + x.type().num_elements()};
}

TEST(EvalRandom, ThreefryKnownAnswers) {
  const TensorType one{DType::kU64, {1}};
  Bits bits = generated(RngAlgorithm::kThreeFry, {0, 0}, one);
  EXPECT_EQ(bits.values.as<uint64_t>()[0], 0x99ba4efe6b200159u);
  EXPECT_EQ(bits.state, (Words{0, 1}));
  bits = generated(RngAlgorithm::kThreeFry, {~uint64_t{0}, ~uint64_t{0}}, one);
  EXPECT_EQ(bits.values.as<uint64_t>()[0], 0xbb002be71cb996fcu);
  EXPECT_EQ(bits.state, (Words{~uint64_t{0}, 0}));
  bits = generated(RngAlgorithm::kThreeFry, {0x0370734413198a2eu, 0x85a308d3243f6a88u}, one);
  EXPECT_EQ(bits.values.as<uint64_t>()[0], 0x483df7a0c4923a9cu);
}

// Neighbours along the first even dimension share a counter, in whose block each has its word.
TEST(EvalRandom, ThreefryArrangement) {
  const auto word = [](uint64_t counter, int which) {
    const Bits bits = generated(RngAlgorithm::kThreeFry, {7, counter}, {DType::kU64, {1}});
    const uint64_t both = bits.values.as<uint64_t>()[0];
    return static_cast<uint32_t>(which == 0 ? both : both >> 32);
  };
  Bits bits = generated(RngAlgorithm::kThreeFry, {7, 100}, {DType::kU32, {3, 2}});
  EXPECT_EQ(words32(bits.values),
            (std::vector<uint32_t>{word(100, 0), word(100, 1), word(101, 0), word(101, 1),
                                   word(102, 0), word(102, 1)}));
  EXPECT_EQ(bits.state, (Words{7, 103}));
  // Without an even dimension the largest is rounded up.
  bits = generated(RngAlgorithm::kThreeFry, {7, 100}, {DType::kU32, {1, 3}});
  EXPECT_EQ(words32(bits.values),
            (std::vector<uint32_t>{word(100, 0), word(100, 1), word(101, 0)}));
  EXPECT_EQ(bits.state, (Words{7, 102}));
  bits = generated(RngAlgorithm::kThreeFry, {7, 100}, {DType::kU32, {}});
  EXPECT_EQ(words32(bits.values), (std::vector<uint32_t>{word(100, 0)}));
  bits = generated(RngAlgorithm::kThreeFry, {7, 100}, {DType::kU8, {1}});
  EXPECT_EQ(bits.values.as<uint8_t>()[0], word(100, 0) & 255);
}

TEST(EvalRandom, PhiloxKnownAnswers) {
  const TensorType block{DType::kU32, {4}};
  Bits bits = generated(RngAlgorithm::kPhilox, {0, 0, 0}, block);
  EXPECT_EQ(words32(bits.values),
            (std::vector<uint32_t>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(bits.state, (Words{0, 1, 0}));
  bits = generated(RngAlgorithm::kPhilox, {~uint64_t{0}, ~uint64_t{0}, ~uint64_t{0}}, block);
  EXPECT_EQ(words32(bits.values),
            (std::vector<uint32_t>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(bits.state, (Words{~uint64_t{0}, 0, 0}));
  bits = generated(RngAlgorithm::kPhilox,
                   {0x299f31d0a4093822u, 0x85a308d3243f6a88u, 0x0370734413198a2eu}, block);
  EXPECT_EQ(words32(bits.values),
            (std::vector<uint32_t>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(EvalRandom, PhiloxTakesWholeBlocks) {
  const Bits five = generated(RngAlgorithm::kPhilox, {3, 0, 0}, {DType::kU32, {5}});
  EXPECT_EQ(five.state, (Words{3, 2, 0}));
  const Bits second = generated(RngAlgorithm::kPhilox, {3, 1, 0}, {DType::kU32, {1}});
  EXPECT_EQ(words32(five.values)[4], words32(second.values)[0]);
  // A state of two words has the key for the upper half of the counter.
  const Bits two = generated(RngAlgorithm::kPhilox, {3, 5}, {DType::kU32, {4}});
  EXPECT_EQ(two.values, generated(RngAlgorithm::kPhilox, {3, 5, 3}, {DType::kU32, {4}}).values);
}

TEST(EvalRandom, WrongStateIsAnError) {
  EXPECT_THROW(generated(RngAlgorithm::kThreeFry, {1, 2, 3}, {DType::kU32, {4}}), UserError);
}

}  // namespace
}  // namespace spmd::testing
