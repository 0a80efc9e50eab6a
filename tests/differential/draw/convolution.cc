#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

ValueId OpDrawer::convolution(ValueId x) {
  if (type(x).rank() < 2 || type(x).rank() > 5 || random_.chance(20)) {
    x = argument({number(), shape(random_.pick(2, 5))});
  }
  if (type(x).dtype == DType::kBool) return ValueId::kNone;
  const int64_t rank = type(x).rank();
  ConvolutionAttrs a;
  const auto layout = [&](int64_t& first, int64_t& second, Dims& spatial) {
    Dims order = some_dims(rank, rank);
    if (random_.chance(60)) random_.shuffle(order);
    first = order[0];
    second = order[1];
    spatial.assign(order.begin() + 2, order.end());
  };
  layout(a.input_batch, a.input_feature, a.input_spatial);
  layout(a.kernel_input_feature, a.kernel_output_feature, a.kernel_spatial);
  layout(a.output_batch, a.output_feature, a.output_spatial);
  const auto divisor = [&](int64_t of) {
    std::vector<int64_t> divisors;
    for (int64_t d = 1; d <= of; ++d) {
      if (of % d == 0) divisors.push_back(d);
    }
    return divisors.empty() ? 1 : random_.of(divisors);
  };
  const int64_t batch = type(x).dim(a.input_batch), features = type(x).dim(a.input_feature);
  if (random_.chance(30))
    a.feature_group_count = divisor(features);
  else if (random_.chance(20))
    a.batch_group_count = divisor(batch);
  TensorType kernel{type(x).dtype, Dims(static_cast<size_t>(rank), 1)};
  const auto set = [&](int64_t dim, int64_t extent) {
    kernel.shape[static_cast<size_t>(dim)] = extent;
  };
  set(a.kernel_input_feature, features / a.feature_group_count);
  set(a.kernel_output_feature, a.feature_group_count * a.batch_group_count * random_.pick(1, 4));
  for (size_t i = 0; i < a.kernel_spatial.size(); ++i) {
    // Long kernels are those of a kernel's gradient.
    const int64_t rows = type(x).dim(a.input_spatial[i]);
    set(a.kernel_spatial[i],
        random_.chance(25) && rows > 1 ? random_.pick(rows - 1, rows + 1) : random_.pick(1, 4));
    a.stride.push_back(random_.pick(1, 3));
    a.pad_low.push_back(random_.pick(-1, 3));
    a.pad_high.push_back(random_.pick(-1, 3));
    a.lhs_dilation.push_back(random_.chance(15) ? 2 : 1);
    a.rhs_dilation.push_back(random_.chance(15) ? 2 : 1);
    a.reversal.push_back(random_.chance(15));
  }
  if (kernel.num_elements() > 1000 || type(x).num_elements() > 600) {
    return ValueId::kNone;
  }
  const ValueId weights = like(kernel);
  const double limit =
      bound(x) * bound(weights) * static_cast<double>(std::max<int64_t>(1, kernel.num_elements()));
  if (!fits(type(x).dtype, limit)) return ValueId::kNone;
  return known(b_->value(OpCode::kConvolution, {x, weights}, a), limit);
}

}  // namespace spmd::testing
