#include "passes/propagate_shardings.h"

#include <fmt/format.h>

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

}  // namespace

Pass propagate_shardings_pass() {
  return {"propagate_shardings", "spread annotations to every value",
          [](Module& module, PassContext& context) {
            if (module.mesh.num_axes() == 0) return false;
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
