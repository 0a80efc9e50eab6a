#include "passes/analysis/model_axes.h"

#include <algorithm>

namespace spmd {
namespace {

// The value and dimension that dimension `dim` of `value` comes from unchanged, one step back;
// kNone when that cannot be said.
struct Origin {
  ValueId value = ValueId::kNone;
  int64_t dim = 0;
};

Origin origin_of_carry(const Function& fn, const Value& arg, int64_t dim) {
  const OpId parent = fn.block(arg.block).parent;
  if (parent == OpId::kNone || fn.op(parent).code != OpCode::kWhile) return {};
  return {fn.op(parent).operands[arg.index], dim};
}

Origin origin_of(const Function& fn, ValueId id, int64_t dim) {
  const Op* op = fn.def(id);
  if (op == nullptr) return origin_of_carry(fn, fn.value(id), dim);
  switch (op->code) {
    case OpCode::kTranspose:
      return {op->operands[0], op->as<TransposeAttrs>().permutation[static_cast<size_t>(dim)]};
    case OpCode::kConvert:
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return {op->operands[0], dim};
    case OpCode::kOptimizationBarrier:
      return {op->operands[fn.value(id).index], dim};
    default:
      return {};
  }
}

}  // namespace

ModelAxes::ModelAxes(const Module& module)
    : is_model_axis_(static_cast<size_t>(module.mesh.num_axes()), false) {
  for (int axis = 0; axis < module.mesh.num_axes(); ++axis) {
    is_model_axis_[static_cast<size_t>(axis)] = module.mesh.axis_size(axis) > 1;
  }
  const Function& main = module.main();
  const bool has_state =
      std::any_of(main.argument_info.begin(), main.argument_info.end(),
                  [](const ArgumentInfo& info) { return info.aliased_result >= 0; });
  for (size_t i = 0; has_state && i < main.arguments().size(); ++i) {
    const ShardingRef& sharding = main.value(main.arguments()[i]).sharding;
    if (main.argument_info[i].aliased_result >= 0 || !sharding) continue;
    for (const DimSharding& dim : sharding->dims) {
      for (const AxisRef& axis : dim.axes) is_model_axis_[static_cast<size_t>(axis.axis)] = false;
    }
  }
  any_ = std::find(is_model_axis_.begin(), is_model_axis_.end(), true) != is_model_axis_.end();
}

bool ModelAxes::divides(const Sharding& sharding, int64_t dim) const {
  const DimSharding& found = sharding.dims[static_cast<size_t>(dim)];
  return found.open || std::any_of(found.axes.begin(), found.axes.end(), [&](const AxisRef& axis) {
           return is_model_axis_[static_cast<size_t>(axis.axis)];
         });
}

bool ModelAxes::may_divide(const Function& fn, ValueId value, int64_t dim) const {
  if (!any_) return false;
  while (true) {
    if (const ShardingRef& sharding = fn.value(value).sharding) return divides(*sharding, dim);
    const Origin origin = origin_of(fn, value, dim);
    if (origin.value == ValueId::kNone) return true;
    value = origin.value;
    dim = origin.dim;
  }
}

}  // namespace spmd
