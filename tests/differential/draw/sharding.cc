#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// The value, cut over some axis, or a part of it, along every dimension that can be, these
// dimensions first: reductions of it are partial.
ValueId OpDrawer::cut(ValueId value, const Dims& first) {
  Sharding wish = Sharding::replicate(type(value).rank());
  AxisList axes = random_pieces(setting_, random_, manual_ ? manual_->all_axes : AxisList{});
  std::stable_partition(axes.begin(), axes.end(), [&](const AxisRef& axis) {
    return setting_.mesh.axis_size(axis.axis) > 1;
  });
  Dims order = some_dims(type(value).rank(), type(value).rank());
  random_.shuffle(order);
  std::stable_partition(order.begin(), order.end(), [&](int64_t dim) {
    return std::find(first.begin(), first.end(), dim) != first.end();
  });
  for (size_t i = 0; i < order.size() && i < axes.size(); ++i) {
    wish.dims[static_cast<size_t>(order[i])].axes = {axes[i]};
  }
  return remember(b_->value(OpCode::kShardingConstraint, {value}, ReshardAttrs{wish}),
                  bound(value));
}

Sharding OpDrawer::sharding(int64_t rank, bool may_be_unreduced) {
  return random_sharding(setting_, random_, rank, manual_ ? manual_->all_axes : AxisList{},
                         may_be_unreduced);
}

void OpDrawer::annotate(ValueId value) {
  const bool sums = is_float(type(value).dtype) || is_integer(type(value).dtype);
  fn_.value(value).sharding =
      std::make_shared<const Sharding>(sharding(type(value).rank(), /*may_be_unreduced=*/sums));
}

ValueId OpDrawer::constrained(ValueId value) {
  const bool sums = is_float(type(value).dtype) || is_integer(type(value).dtype);
  const Sharding wish = sharding(type(value).rank(), /*may_be_unreduced=*/sums);
  return known(b_->value(OpCode::kShardingConstraint, {value}, ReshardAttrs{wish}), bound(value));
}

}  // namespace spmd::testing
