#include "passes/propagate_shardings.h"

#include <fmt/format.h>

#include "ir/builder.h"
#include "sharding/drop_placements.h"
#include "sharding/propagation/propagation.h"

namespace spmd {
namespace {

// A declared dimension that is not open is cut over these axes and no others.
bool asks_otherwise(const Sharding& declared, const Sharding& placed) {
  for (int64_t d = 0; d < declared.rank(); ++d) {
    const DimSharding& dim = declared.dims[static_cast<size_t>(d)];
    if (!dim.open && dim.axes != placed.axes(d)) return true;
  }
  return false;
}

// Results that replace arguments are placed like them, whatever they declare: the next step takes
// them as arguments.
void remark_overridden_results(const Function& main, const std::vector<ShardingRef>& declared,
                               const Mesh& mesh, PassContext& context) {
  for (size_t i = 0; i < main.argument_info.size(); ++i) {
    if (main.argument_info[i].aliased_result < 0) continue;
    const auto result = static_cast<size_t>(main.argument_info[i].aliased_result);
    const ShardingRef& placed = main.result_info[result].sharding;
    if (!declared[result] || !placed || !asks_otherwise(*declared[result], *placed)) continue;
    const std::string& name = main.result_info[result].name;
    context.remarks.push_back(
        {"propagate_shardings", name.empty() ? fmt::format("result {}", result) : name,
         fmt::format("is declared as {}, and is placed like the argument that it replaces: {}",
                     declared[result]->to_string(mesh), placed->to_string(mesh))});
  }
}

// A manual computation over no axes is its region.
bool inline_manual_computations(Function& fn) {
  std::vector<OpId> found;
  walk(fn, [&](OpId id) {
    if (fn.op(id).code == OpCode::kManualComputation) found.push_back(id);
  });
  // Inner ones first: copying a region gives its ops new ids.
  for (auto id = found.rbegin(); id != found.rend(); ++id) {
    Builder builder = Builder::before(fn, *id);
    ValueMap values;
    const BlockId region = fn.op(*id).regions[0];
    for (size_t i = 0; i < fn.op(*id).operands.size(); ++i) {
      values[fn.block(region).args[i]] = fn.op(*id).operands[i];
    }
    const std::vector<ValueId> results = inline_block(fn, region, builder, values);
    for (size_t i = 0; i < results.size(); ++i) {
      fn.replace_all_uses(fn.op(*id).results[i], results[i]);
    }
    fn.erase_op(*id);
  }
  return !found.empty();
}

// On one device there is nothing to place.
bool leave_unplaced(Module& module) {
  bool changed = drop_placements(module);
  for (const auto& fn : module.functions()) changed |= inline_manual_computations(*fn);
  return changed;
}

}  // namespace

Pass propagate_shardings_pass() {
  return {"propagate_shardings", "spread annotations to every value",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return leave_unplaced(module);
            std::vector<ShardingRef> declared;
            for (const ResultInfo& result : module.main().result_info) {
              declared.push_back(result.sharding);
            }
            propagate_shardings(module);
            remark_overridden_results(module.main(), declared, module.mesh, context);
            return true;
          }};
}

}  // namespace spmd
