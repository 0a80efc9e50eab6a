#include "tests/differential/op_drawer.h"

namespace spmd::testing {

ValueId OpDrawer::random_bits(ValueId x) {
  const RngAlgorithm algorithm = random_.of(
      std::vector{RngAlgorithm::kThreeFry, RngAlgorithm::kThreeFry, RngAlgorithm::kPhilox});
  const int64_t words = algorithm == RngAlgorithm::kPhilox ? random_.pick(2, 3) : 2;
  const ValueId state = argument({DType::kU64, {words}});
  const TensorType bits = type(x).with_dtype(random_.of(std::vector{
      DType::kU32, DType::kU32, DType::kU64, DType::kU16, DType::kU8, DType::kS32, DType::kS64}));
  const OpId op = b_->create(OpCode::kRngBitGenerator, {state}, {type(state), bits},
                             RngBitGeneratorAttrs{algorithm});
  remember(fn_.op(op).results[0], largest_integer(DType::kU64));
  const ValueId low = b_->binary(OpCode::kAnd, fn_.op(op).results[1], b_->splat(bits, 7));
  return known(b_->convert(low, DType::kS32), 7);
}

}  // namespace spmd::testing
