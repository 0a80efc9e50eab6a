// What exchanges of rows cost.
#include <algorithm>
#include <limits>

#include "passes/partition/arithmetic.h"
#include "passes/partition/exchanged_op.h"

namespace spmd {
namespace {

// An exchange of more permutes than this loses to gathering, whatever they carry.
constexpr int64_t kMaxPermutes = 16;

std::vector<RowNeed> needs_of(const ExchangedFactor& factor) {
  if (factor.op.code == OpCode::kSelectAndScatter) return scatter_windows(factor).needs;
  if (!has_window(factor)) return block_needs(factor);
  return window_plan(factor).needs;
}

// Bytes of one row of an operand on one rank.
double row_bytes(const ExchangedFactor& factor, size_t operand) {
  const ValueId value = factor.op.operands[operand];
  const TensorType& type = factor.site.fn.type(value);
  const auto dim = at(factor.operand_dim(operand));
  auto bytes = static_cast<double>(byte_size(type.dtype));
  const Placement placement = factor.site.placement(value);
  for (size_t d = 0; d < type.shape.size(); ++d) {
    if (d == dim) continue;
    bytes *= static_cast<double>(type.shape[d]);
    bytes /= static_cast<double>(factor.site.atoms.extent(placement.dims[d]));
  }
  return bytes;
}

double factor_seconds(const ExchangedFactor& factor, const CostModel& cost) {
  const auto gathered = [&](double bytes_per_rank) {
    const auto bytes = static_cast<int64_t>(bytes_per_rank * static_cast<double>(factor.ranks));
    return cost.collective_seconds(CollectiveKind::kAllGather, bytes, factor.ranks);
  };
  if (is_scan(factor)) return gathered(row_bytes(factor, 0));
  if (factor.op.code == OpCode::kTopK) {
    const auto k = static_cast<double>(std::min(block_of(factor, 0), factor.op.as<TopKAttrs>().k));
    const DType dtype = factor.site.fn.type(factor.op.operands[0]).dtype;
    const double indices =
        row_bytes(factor, 0) / static_cast<double>(byte_size(dtype)) * byte_size(DType::kS32);
    return gathered(k * row_bytes(factor, 0)) + gathered(k * indices);
  }
  if (factor.op.code == OpCode::kConvolution && !cuts_kernel_evenly(factor)) {
    return std::numeric_limits<double>::infinity();
  }
  double seconds = 0;
  for (const RowNeed& need : needs_of(factor)) {
    const auto plan = plan_exchange(need.exchange, kMaxPermutes);
    if (!plan) return std::numeric_limits<double>::infinity();
    seconds += plan->seconds(static_cast<int64_t>(row_bytes(factor, need.operand)), cost);
  }
  return seconds;
}

}  // namespace

double exchange_seconds(const ExchangeSite& site, const Op& op, const FactorRule& rule,
                        const FactorAssignment& assignment, const CostModel& cost) {
  double seconds = 0;
  for (const ExchangedFactor& factor : exchanged_factors(site, op, rule, assignment)) {
    seconds += factor_seconds(factor, cost);
  }
  return seconds;
}

}  // namespace spmd
