#include <algorithm>

#include "ir/builder.h"
#include "sharding/rules/cumulative.h"
#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

// What becomes of a dimension: its own elements only, halos or carries of a scan, all of it.
enum class Along : uint8_t { kElement, kWindow, kWhole };

Along along(const Function& fn, const Op& op, int64_t dim, bool known_reducer, bool& scanned) {
  const auto& w = op.as<WindowAttrs>();
  const auto d = static_cast<size_t>(dim);
  const int64_t size = fn.type(op.operands[0]).dim(dim);
  if (w.size[d] == 1 && w.stride[d] == 1 && w.base_dilation[d] == 1 && w.pad_low[d] == 0 &&
      w.pad_high[d] == 0) {
    return Along::kElement;
  }
  const ValueId windows = op.code == OpCode::kSelectAndScatter ? op.operands[1] : op.results[0];
  if (size == 0 || fn.type(windows).dim(dim) == 0) return Along::kWhole;
  if (op.code == OpCode::kSelectAndScatter) return known_reducer ? Along::kWindow : Along::kWhole;
  if (!is_cumulative(w, d, size)) return Along::kWindow;
  // A scan of one dimension at a time.
  if (!known_reducer || scanned) return Along::kWhole;
  scanned = true;
  return Along::kWindow;
}

}  // namespace

FactorRule window(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  const TensorType& operand = fn.type(op.operands[0]);
  const bool scatter = op.code == OpCode::kSelectAndScatter;
  const size_t tensors = scatter ? 2 : op.results.size();
  const std::optional<OpCode> reducer =
      op.results.size() == 1 ? reducer_of(fn, op.regions.back()) : std::nullopt;
  const bool known = reducer && reduction_kind(*reducer);
  bool scanned = false;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    const Along what = along(fn, op, d, known, scanned);
    if (what == Along::kWhole) continue;
    const int64_t windows = fn.type(scatter ? op.operands[1] : op.results[0]).dim(d);
    const int factor = what == Along::kElement
                           ? rule.add_factor(operand.dim(d))
                           : rule.add_exchanged(std::max(operand.dim(d), windows));
    for (size_t t = 0; t < tensors; ++t) put(rule.operands[t], d, factor);
    for (TensorFactors& result : rule.results) put(result, d, factor);
  }
  replicate_rest(fn, op, rule);
  return rule;
}

}  // namespace spmd::rules
