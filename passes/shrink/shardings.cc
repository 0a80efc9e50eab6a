// Less in shardings, and smaller meshes.
#include <algorithm>

#include "passes/shrink/edits.h"

namespace spmd::shrinking {
namespace {

// Changes the n-th sharding; `change` returns whether it did.
bool change_sharding(Module& module, size_t which, const std::function<bool(Sharding&)>& change) {
  size_t n = 0;
  bool changed = false;
  for_each_sharding(module, [&](Sharding& sharding) {
    if (n++ == which) changed = change(sharding);
  });
  return changed;
}

// Leaves nothing but axes, everything closed.
bool make_plain(Sharding& sharding) {
  Sharding bare = Sharding::replicate(sharding.rank());
  for (size_t d = 0; d < bare.dims.size(); ++d) bare.dims[d].axes = sharding.dims[d].axes;
  const bool changed = !(bare == sharding);
  sharding = std::move(bare);
  return changed;
}

bool drop_axis(Sharding& sharding, size_t dim, size_t axis) {
  AxisList& axes = sharding.dims[dim].axes;
  axes.erase(axes.begin() + static_cast<ptrdiff_t>(axis));
  return true;
}

bool clear_list(Sharding& sharding, AxisList Sharding::*list) {
  return !std::exchange(sharding.*list, {}).empty();
}

void edits_of_sharding(const Sharding& sharding, size_t which, std::vector<Edit>& edits) {
  const auto add = [&](std::function<bool(Sharding&)> change) {
    edits.push_back([=](Module& m) { return change_sharding(m, which, change); });
  };
  add(make_plain);
  for (AxisList Sharding::*list : {&Sharding::replicated, &Sharding::unreduced}) {
    add([=](Sharding& s) { return clear_list(s, list); });
  }
  for (size_t dim = 0; dim < sharding.dims.size(); ++dim) {
    for (size_t axis = 0; axis < sharding.dims[dim].axes.size(); ++axis) {
      add([=](Sharding& s) { return drop_axis(s, dim, axis); });
    }
  }
}

bool resize_axis(Module& module, int axis, int64_t size) {
  std::vector<MeshAxis> axes = module.mesh.axes();
  if (axes[static_cast<size_t>(axis)].size <= size) return false;
  axes[static_cast<size_t>(axis)].size = size;
  const auto resize = [&](AxisList& list) {
    for (AxisRef& ref : list) {
      if (ref.axis == axis) ref = {axis, 1, 0};
    }
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  for_each_sharding(module, [&](Sharding& sharding) {
    for (DimSharding& dim : sharding.dims) resize(dim.axes);
    resize(sharding.replicated);
    resize(sharding.unreduced);
  });
  module.mesh = Mesh(std::move(axes));
  return true;
}

// Drops the last axis of the mesh when nothing names it; what does makes the module illegal.
bool drop_last_axis(Module& module) {
  std::vector<MeshAxis> axes = module.mesh.axes();
  if (axes.size() < 2) return false;
  const int last = module.mesh.num_axes() - 1;
  bool named = false;
  for_each_sharding(module, [&](Sharding& sharding) {
    const auto look = [&](const AxisList& list) {
      for (const AxisRef& ref : list) named = named || ref.axis == last;
    };
    for (const DimSharding& dim : sharding.dims) look(dim.axes);
    look(sharding.replicated);
    look(sharding.unreduced);
  });
  if (named) return false;
  axes.pop_back();
  module.mesh = Mesh(std::move(axes));
  return true;
}

}  // namespace

void for_each_sharding(Module& module, const std::function<void(Sharding&)>& visit) {
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
    for (ValueId result : fn.op(id).results) visit_ref(fn.value(result).sharding);
  });
}

std::vector<Edit> sharding_edits(const Module& module) {
  std::vector<Edit> edits;
  const Function& fn = module.main();
  const auto clear = [](ShardingRef& ref) { return std::exchange(ref, nullptr) != nullptr; };
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    edits.push_back(
        [=](Module& m) { return clear(m.main().value(m.main().arguments()[i]).sharding); });
  }
  for (size_t i = 0; i < fn.results().size(); ++i) {
    edits.push_back([=](Module& m) { return clear(m.main().result_info[i].sharding); });
  }
  walk(fn, [&](OpId id) {
    for (ValueId result : fn.op(id).results) {
      if (!fn.value(result).sharding) continue;
      edits.push_back([=](Module& m) { return clear(m.main().value(result).sharding); });
    }
  });
  Module copy = module.clone();
  size_t which = 0;
  for_each_sharding(copy, [&](Sharding& sharding) { edits_of_sharding(sharding, which++, edits); });
  return edits;
}

std::vector<Edit> mesh_edits(const Module& module) {
  std::vector<Edit> edits;
  edits.push_back([](Module& m) {
    if (m.mesh.device_ids().empty()) return false;
    m.mesh = Mesh(m.mesh.axes());
    return true;
  });
  edits.emplace_back(drop_last_axis);
  for (int axis = 0; axis < module.mesh.num_axes(); ++axis) {
    for (int64_t size : {1, 2, 3, 4}) {
      edits.push_back([=](Module& m) { return resize_axis(m, axis, size); });
    }
  }
  return edits;
}

}  // namespace spmd::shrinking
