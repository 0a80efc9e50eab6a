#include <cmath>

#include "ir/verify/families.h"

namespace spmd::verifier {

// A softmax is over at least one key: of none it would be 0 / 0.
void verify_attention(const OpView& v) {
  const double scale = v.op.as<AttentionAttrs>().scale;
  v.require(std::isfinite(scale), "has the scale {}, expected a finite number", scale);
  v.require(v.operand(1).dim(1) > 0, "has no keys: {}", v.operand(1));
}

}  // namespace spmd::verifier
