#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// A layer and, often, its backward pass. Scores are small, since exponentials magnify what rounding
// does to large ones; the results are no whole numbers.
ValueId OpDrawer::attention(ValueId x) {
  const DType dtype = type(x).dtype;
  if (setting_.whole || (dtype != DType::kF32 && dtype != DType::kF64)) return ValueId::kNone;
  const int64_t batch = size(), heads = size(), queries = size(), keys = size();
  const int64_t groups = random_.pick(1, 3), head = random_.pick(1, 4), width = random_.pick(1, 4);
  const TensorType query_type{dtype, {batch, queries, heads, groups, head}};
  const TensorType key_type{dtype, {batch, keys, heads, head}};
  if (keys == 0 || query_type.num_elements() > 1000 || key_type.num_elements() > 1000) {
    return ValueId::kNone;
  }
  const ValueId query = like(query_type), key = like(key_type),
                value = like({dtype, {batch, keys, heads, width}});
  const double of_query = std::max(1.0, bound(query)), of_key = std::max(1.0, bound(key)),
               of_value = std::max(1.0, bound(value));
  const AttentionAttrs attrs{1 / (static_cast<double>(head) * of_query * of_key),
                             random_.chance(50)};
  const std::vector<ValueId> forward =
      fn_.op(b_->create(OpCode::kAttention, {query, key, value}, attrs)).results;
  const ValueId output = known(forward[0], of_value);
  if (output == ValueId::kNone || random_.chance(30)) return output;

  const ValueId gradient = like(type(output));
  const double of_gradient = std::max(1.0, bound(gradient));
  const std::vector<ValueId> backward =
      fn_.op(b_->create(OpCode::kAttentionBackward,
                        {query, key, value, output, forward[1], gradient}, attrs))
          .results;
  const double of_scores =
      2 * static_cast<double>(width) * of_gradient * of_value * std::max(1.0, attrs.scale);
  const double served = static_cast<double>(std::max<int64_t>(1, queries * groups));
  known(backward[0], of_scores * of_key);
  known(backward[1], of_scores * of_query * served);
  return known(backward[random_.chance(50) ? 2 : 0], of_gradient * served * of_key * of_scores);
}

}  // namespace spmd::testing
