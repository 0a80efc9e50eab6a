#include "passes/partition/op_cost.h"

#include <algorithm>

#include "passes/analysis/flops.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

// Share of its results that an elementwise op or reduction moves through memory; the rest, and its
// operands, stay within the fused kernel that it becomes part of.
constexpr double kFusedTraffic = 0.25;

}  // namespace

double op_seconds(const Function& fn, const Op& op, const FactorRule& rule,
                  const FactorAssignment& assignment, const AtomTable& atoms,
                  const CostModel& cost) {
  switch (op.code) {
    case OpCode::kConstant:
    case OpCode::kIota:
    case OpCode::kReshape:
    case OpCode::kBroadcastInDim:
      return 0;
    default:
      break;
  }
  double bytes = 0;
  const auto add = [&](const TensorFactors& tensor, ValueId value) {
    if (is_free_source(fn, value)) return;
    double shards = 1;
    for (const AtomList& dim : place(rule, tensor, assignment, atoms).dims) {
      shards *= static_cast<double>(atoms.extent(dim));
    }
    bytes += static_cast<double>(fn.type(value).num_bytes()) / shards;
  };
  for (size_t i = 0; i < op.results.size(); ++i) add(rule.results[i], op.results[i]);
  if (family_of(op.code) == OpFamily::kElementwise || op.code == OpCode::kReduce) {
    bytes *= kFusedTraffic;
  } else {
    for (size_t i = 0; i < op.operands.size(); ++i) add(rule.operands[i], op.operands[i]);
  }
  double parallel = 1;
  for (const AtomList& axes : assignment.axes) parallel *= static_cast<double>(atoms.extent(axes));
  return std::max(bytes / cost.memory_bandwidth,
                  contraction_flops(fn, op) / parallel / cost.flops_per_second);
}

}  // namespace spmd
