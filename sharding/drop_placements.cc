#include "sharding/drop_placements.h"

namespace spmd {
namespace {

bool drop_shardings(Function& fn) {
  bool any = false;
  const auto drop = [&](ShardingRef& sharding) {
    any = any || sharding != nullptr;
    sharding = nullptr;
  };
  for (size_t v = 0; v < fn.num_value_ids(); ++v) drop(fn.value(static_cast<ValueId>(v)).sharding);
  for (ResultInfo& result : fn.result_info) drop(result.sharding);
  return any;
}

bool drop_placing_ops(Function& fn) {
  std::vector<OpId> placing;
  walk(fn, [&](OpId id) {
    const OpCode code = fn.op(id).code;
    if (code == OpCode::kShardingConstraint || code == OpCode::kReshard) placing.push_back(id);
  });
  for (OpId id : placing) {
    fn.replace_all_uses(fn.op(id).results[0], fn.op(id).operands[0]);
    fn.erase_op(id);
  }
  return !placing.empty();
}

}  // namespace

bool drop_placements(Module& module) {
  bool any = false;
  for (const auto& fn : module.functions()) {
    any |= drop_shardings(*fn);
    any |= drop_placing_ops(*fn);
  }
  return any;
}

}  // namespace spmd
