#include "ir/verify/families.h"

namespace spmd::verifier {

// The state is a key and a counter in 64-bit words; philox has a counter of one or two.
void verify_random(const OpView& v) {
  v.require_counts(1, 2);
  const TensorType &state = v.operand(0), &bits = v.result(1);
  const bool threefry = v.op.as<RngBitGeneratorAttrs>().algorithm == RngAlgorithm::kThreeFry;
  const bool fits = state.dtype == DType::kU64 && state.rank() == 1 &&
                    (state.dim(0) == 2 || (state.dim(0) == 3 && !threefry));
  v.require(fits, "the state is {}, expected {}", state,
            threefry ? "tensor<2xui64>" : "tensor<2xui64> or tensor<3xui64>");
  v.require_type("the new state", v.result(0), state);
  v.require(contains(kIntegers | kFloats, bits.dtype),
            "random bits are {}, expected integers or floats", bits);
}

}  // namespace spmd::verifier
