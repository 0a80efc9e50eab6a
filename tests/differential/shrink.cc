#include "tests/differential/shrink.h"

#include <algorithm>

#include "ir/verifier.h"
#include "passes/dce.h"
#include "support/error.h"

namespace spmd::testing {
namespace {

// One way to make a module smaller. Returns false when it does not apply.
using Edit = std::function<bool(Module&)>;

void drop_unused_arguments(Function& fn) {
  for (size_t i = fn.arguments().size(); i-- > 0;) {
    if (!fn.value(fn.arguments()[i]).uses.empty()) continue;
    fn.erase_block_argument(fn.body(), i);
    fn.argument_info.erase(fn.argument_info.begin() + static_cast<ptrdiff_t>(i));
  }
}

bool keep_result(Module& module, size_t result, ValueId value) {
  Function& fn = module.main();
  if (fn.results().size() == 1 && fn.results()[0] == value) return false;
  const bool same = fn.results()[result] == value;
  ResultInfo info = fn.result_info[result];
  if (!same && info.sharding && info.sharding->rank() != fn.type(value).rank()) {
    info.sharding = nullptr;
  }
  fn.set_operands(fn.terminator(fn.body()), {value});
  fn.result_info = {info};
  for (ArgumentInfo& argument : fn.argument_info) {
    argument.aliased_result = same && argument.aliased_result == static_cast<int>(result) ? 0 : -1;
  }
  return true;
}

// Reducers and comparators stay as they are.
bool is_scalar_region(const Function& fn, BlockId block) {
  const OpId parent = fn.block(block).parent;
  return parent != OpId::kNone && family_of(fn.op(parent).code) != OpFamily::kControlFlow;
}

bool cut_op(Module& module, OpId op) {
  Function& fn = module.main();
  if (fn.op(op).code == OpCode::kReturn || is_scalar_region(fn, fn.op(op).block)) return false;
  const std::vector<ValueId> results = fn.op(op).results;
  for (ValueId result : results) {
    if (fn.value(result).uses.empty()) continue;
    const ValueId argument = fn.add_block_argument(fn.body(), fn.type(result));
    fn.argument_info.emplace_back();
    fn.replace_all_uses(result, argument);
  }
  fn.erase_op(op);
  return true;
}

bool bypass_op(Module& module, OpId op, size_t operand) {
  Function& fn = module.main();
  if (fn.op(op).results.size() != 1 || is_scalar_region(fn, fn.op(op).block)) return false;
  const ValueId result = fn.op(op).results[0], value = fn.op(op).operands[operand];
  if (fn.type(value) != fn.type(result)) return false;
  fn.replace_all_uses(result, value);
  fn.erase_op(op);
  return true;
}

// Calls visit(sharding) for each sharding of the module.
template <typename Visit>
void for_each_sharding(Module& module, Visit&& visit) {
  Function& fn = module.main();
  const auto visit_ref = [&](ShardingRef& ref) {
    if (!ref) return;
    Sharding copy = *ref;
    visit(copy);
    ref = std::make_shared<const Sharding>(std::move(copy));
  };
  for (ValueId argument : fn.arguments()) visit_ref(fn.value(argument).sharding);
  for (ResultInfo& info : fn.result_info) visit_ref(info.sharding);
  walk(fn, [&](OpId id) {
    if (fn.op(id).code == OpCode::kShardingConstraint) {
      visit(fn.op(id).as<ReshardAttrs>().sharding);
    }
  });
}

size_t count_shardings(Module& module) {
  size_t count = 0;
  for_each_sharding(module, [&](Sharding&) { ++count; });
  return count;
}

// Takes one axis out of the n-th sharding.
bool drop_axis(Module& module, size_t which, size_t dim, size_t axis) {
  size_t n = 0;
  bool found = false;
  for_each_sharding(module, [&](Sharding& sharding) {
    if (n++ != which || dim >= sharding.dims.size()) return;
    AxisList& axes = sharding.dims[dim].axes;
    if (axis >= axes.size()) return;
    axes.erase(axes.begin() + static_cast<ptrdiff_t>(axis));
    found = true;
  });
  return found;
}

// Leaves nothing in the n-th sharding but axes, everything closed.
bool plain(Module& module, size_t which) {
  size_t n = 0;
  bool changed = false;
  for_each_sharding(module, [&](Sharding& sharding) {
    if (n++ != which) return;
    Sharding bare = Sharding::replicate(sharding.rank());
    for (size_t d = 0; d < bare.dims.size(); ++d) bare.dims[d].axes = sharding.dims[d].axes;
    changed = !(bare == sharding);
    sharding = bare;
  });
  return changed;
}

bool resize_axis(Module& module, int axis, int64_t size) {
  std::vector<MeshAxis> axes = module.mesh.axes();
  if (axes[static_cast<size_t>(axis)].size <= size) return false;
  axes[static_cast<size_t>(axis)].size = size;
  for_each_sharding(module, [&](Sharding& sharding) {
    for (DimSharding& dim : sharding.dims) {
      for (AxisRef& ref : dim.axes) {
        if (ref.axis == axis) ref = {axis, 1, 0};
      }
      dim.axes.erase(std::unique(dim.axes.begin(), dim.axes.end()), dim.axes.end());
    }
  });
  module.mesh = Mesh(std::move(axes));
  return true;
}

std::vector<Edit> edits_of(const Module& module) {
  std::vector<Edit> edits;
  const Function& fn = module.main();
  for (size_t r = 0; r < fn.results().size(); ++r) {
    edits.push_back([=](Module& m) { return keep_result(m, r, m.main().results()[r]); });
  }
  std::vector<OpId> ops;
  walk(fn, [&](OpId id) { ops.push_back(id); });
  for (size_t r = 0; r < fn.results().size(); ++r) {
    for (OpId id : ops) {
      if (fn.op(id).block != fn.body()) continue;
      for (ValueId value : fn.op(id).results) {
        if (value == fn.results()[r]) continue;
        edits.push_back([=](Module& m) { return keep_result(m, r, value); });
      }
    }
  }
  for (OpId id : ops) edits.push_back([=](Module& m) { return cut_op(m, id); });
  for (OpId id : ops) {
    for (size_t i = 0; i < fn.op(id).operands.size(); ++i) {
      edits.push_back([=](Module& m) { return bypass_op(m, id, i); });
    }
  }
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    edits.push_back([=](Module& m) {
      return std::exchange(m.main().argument_info[i].aliased_result, -1) >= 0;
    });
    edits.push_back([=](Module& m) {
      return std::exchange(m.main().value(m.main().arguments()[i]).sharding, nullptr) != nullptr;
    });
  }
  for (size_t r = 0; r < fn.results().size(); ++r) {
    edits.push_back([=](Module& m) {
      return std::exchange(m.main().result_info[r].sharding, nullptr) != nullptr;
    });
  }
  Module copy = module.clone();
  for (size_t s = 0; s < count_shardings(copy); ++s) {
    edits.push_back([=](Module& m) { return plain(m, s); });
    for (size_t dim = 0; dim < 5; ++dim) {
      for (size_t axis = 0; axis < 3; ++axis) {
        edits.push_back([=](Module& m) { return drop_axis(m, s, dim, axis); });
      }
    }
  }
  edits.push_back([](Module& m) {
    if (m.mesh.device_ids().empty()) return false;
    m.mesh = Mesh(m.mesh.axes());
    return true;
  });
  for (int axis = 0; axis < module.mesh.num_axes(); ++axis) {
    for (int64_t size : {1, 2, 3}) {
      edits.push_back([=](Module& m) { return resize_axis(m, axis, size); });
    }
  }
  return edits;
}

bool tidy(Module& module) {
  PassContext context;
  try {
    verify(module);
    dce_pass().run(module, context);
    drop_unused_arguments(module.main());
    module.main().compact();
    verify(module);
  } catch (const UserError&) {
    return false;
  }
  return true;
}

}  // namespace

Module shrink(Module module, const std::function<bool(const Module&)>& fails) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    for (const Edit& edit : edits_of(module)) {
      Module candidate = module.clone();
      if (!edit(candidate) || !tidy(candidate) || !fails(candidate)) continue;
      module = std::move(candidate);
      smaller = true;
      break;
    }
  }
  return module;
}

}  // namespace spmd::testing
