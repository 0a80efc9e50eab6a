#include "passes/propagate_shardings.h"

#include <fmt/format.h>

#include "ir/builder.h"
#include "ir/describe.h"
#include "ir/reducer_region.h"
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
    context.remarks.push_back(
        {"propagate_shardings", name_of_result(main, result),
         fmt::format("is declared as {}, and is placed like the argument that it replaces: {}",
                     declared[result]->to_string(mesh), placed->to_string(mesh))});
  }
}

// Whether a value stays unreduced is decided where reductions are placed (insert_reshards,
// defer_reductions); those of arguments and results, which files hold whole, always are. What a
// declaration of unreduced axes leaves is that no dimension may be cut over them.
void reserve_unreduced_axes(Module& module, PassContext& context) {
  Function& main = module.main();
  const auto reserve = [&](Sharding& declared, const std::string& place) {
    if (declared.unreduced.empty()) return false;
    context.remarks.push_back(
        {"propagate_shardings", place,
         fmt::format("is declared as {}: it is reduced where that costs least",
                     declared.to_string(module.mesh))});
    declared.replicated.insert(declared.replicated.end(), declared.unreduced.begin(),
                               declared.unreduced.end());
    declared.unreduced.clear();
    return true;
  };
  const auto reserve_in = [&](ShardingRef& declared, const std::string& place) {
    if (!declared) return;
    Sharding copy = *declared;
    if (reserve(copy, place)) declared = std::make_shared<const Sharding>(std::move(copy));
  };
  for (size_t i = 0; i < main.arguments().size(); ++i) {
    reserve_in(main.value(main.arguments()[i]).sharding, name_of_argument(main, i));
  }
  for (size_t i = 0; i < main.result_info.size(); ++i) {
    reserve_in(main.result_info[i].sharding, name_of_result(main, i));
  }
  walk(main, [&](OpId id) {
    Op& op = main.op(id);
    if (op.code == OpCode::kShardingConstraint) {
      reserve(op.as<ReshardAttrs>().sharding, place_of(op));
    }
    for (ValueId result : op.results) reserve_in(main.value(result).sharding, place_of(op));
  });
}

// "argument x, through stablehlo.add at model.py:3"
std::string describe_origin(const Function& fn, const ShardingOrigin& origin) {
  if (origin.annotation.empty()) return "";
  if (origin.through == OpId::kNone) return origin.annotation;
  return fmt::format("{}, through {}", origin.annotation, place_of(fn.op(origin.through)));
}

std::vector<PlacedValue> list_placements(const Module& module, const ShardingOrigins& origins) {
  const Function& main = module.main();
  std::vector<PlacedValue> rows;
  const auto add = [&](std::string place, ValueId id) {
    const Value& value = main.value(id);
    rows.push_back({std::move(place), to_string(value.type), value.sharding->to_string(module.mesh),
                    describe_origin(main, origins[index_of(id)])});
  };
  for (size_t i = 0; i < main.arguments().size(); ++i) {
    add(name_of_argument(main, i), main.arguments()[i]);
  }
  walk(main, [&](OpId id) {
    if (is_reducer_region(main, main.op(id).block)) return;  // scalars, which nothing places
    for (ValueId result : main.op(id).results) {
      if (!is_free_source(main, result)) add(place_of(main.op(id)), result);
    }
  });
  return rows;
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
            reserve_unreduced_axes(module, context);
            std::vector<ShardingRef> declared;
            for (const ResultInfo& result : module.main().result_info) {
              declared.push_back(result.sharding);
            }
            ShardingOrigins origins;
            propagate_shardings(module, &origins);
            if (context.options.trace_shardings)
              context.placements = list_placements(module, origins);
            remark_overridden_results(module.main(), declared, module.mesh, context);
            return true;
          }};
}

}  // namespace spmd
