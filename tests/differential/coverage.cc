#include "tests/differential/coverage.h"

#include <fmt/format.h>

#include <algorithm>

namespace spmd::testing {

void Coverage::add(const Module& module) {
  const Function& fn = module.main();
  const Mesh& mesh = module.mesh;
  const bool has_axis_1 = std::any_of(mesh.axes().begin(), mesh.axes().end(),
                                      [](const MeshAxis& axis) { return axis.size == 1; });
  walk(fn, [&](OpId id) {
    const Op& op = fn.op(id);
    auto& row = rows_[std::string(name_of(op.code))];
    bool sharded = false, uneven = false, empty = false, sub_axis = false, partial = false;
    const auto look = [&](ValueId id) {
      const Value& value = fn.value(id);
      if (!value.sharding) return;
      partial = partial || !value.sharding->unreduced.empty();
      for (size_t d = 0; d < value.sharding->dims.size(); ++d) {
        const AxisList& axes = value.sharding->dims[d].axes;
        const int64_t shards = axes_size(axes, mesh), size = value.type.shape[d];
        sharded = sharded || shards > 1;
        uneven = uneven || size % shards != 0;
        empty = empty || (size + shards - 1) / shards * (shards - 1) >= size;
        for (const AxisRef& axis : axes) sub_axis = sub_axis || !axis.is_full();
      }
    };
    for (ValueId operand : op.operands) look(operand);
    for (ValueId result : op.results) look(result);
    const bool facts[] = {true,     sharded,    uneven,  empty && sharded && uneven,
                          sub_axis, has_axis_1, partial, !mesh.device_ids().empty()};
    for (size_t i = 0; i < row.size(); ++i) row[i] += facts[i];
  });
}

std::string Coverage::to_string() const {
  std::string text = fmt::format("{:32}", "op");
  for (const char* column : kColumns) text += fmt::format("{:>12}", column);
  for (const auto& [name, row] : rows_) {
    text += fmt::format("\n{:32}", name);
    for (int count : row) text += fmt::format("{:12}", count);
  }
  return text + "\n";
}

}  // namespace spmd::testing
