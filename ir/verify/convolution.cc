#include "ir/verify/products.h"

namespace spmd::verifier {

void verify_convolution(const OpView& v) {
  const auto& attrs = v.op.as<ConvolutionAttrs>();
  require_products(v);
  require_precision(v, attrs.precision);
  v.require(attrs.feature_group_count == 1 || attrs.batch_group_count == 1,
            "has {} feature groups and {} batch groups, expected one of them to be 1",
            attrs.feature_group_count, attrs.batch_group_count);
}

}  // namespace spmd::verifier
