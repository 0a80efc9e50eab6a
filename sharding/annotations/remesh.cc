#include "sharding/annotations/remesh.h"

#include <algorithm>

#include "ir/axis_factors.h"
#include "ir/axis_lists.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {

namespace {

// Whether an op names devices by number, which another mesh would give to others.
bool names_devices(const Attrs& attrs) {
  if (const auto* gather = std::get_if<AllGatherAttrs>(&attrs)) return gather->groups.is_explicit();
  if (const auto* reduce = std::get_if<AllReduceAttrs>(&attrs)) return reduce->groups.is_explicit();
  if (const auto* scatter = std::get_if<ReduceScatterAttrs>(&attrs)) {
    return scatter->groups.is_explicit();
  }
  if (const auto* all = std::get_if<AllToAllAttrs>(&attrs)) return all->groups.is_explicit();
  const auto* permute = std::get_if<CollectivePermuteAttrs>(&attrs);
  return permute != nullptr && permute->axes.empty() && !permute->source_target_pairs.empty();
}

class Remesh {
 public:
  Remesh(Module& module, const Mesh& mesh) : module_(module), mesh_(mesh) {}

  void run() {
    const Mesh& old = module_.mesh;
    if (old.axes() == mesh_.axes() && mesh_.device_ids().empty()) return;
    find_axes();
    for (const auto& fn : module_.functions()) check(*fn);
    for (const auto& fn : module_.functions()) rewrite(*fn);
    module_.mesh = mesh_;
    choose_axis_factors(module_);
  }

 private:
  void find_axes() {
    std::vector<std::string> names;
    for (const MeshAxis& axis : mesh_.axes()) names.push_back(axis.name);
    for (const MeshAxis& axis : module_.mesh.axes()) {
      const auto found = mesh_.find_axis(axis.name);
      if (!found) {
        throw UserError("--mesh",
                        fmt::format("the mesh {} has no axis \"{}\", which {} uses: its mesh is {}",
                                    mesh_.axes().empty() ? "without axes" : mesh_.to_string(),
                                    axis.name, file(), module_.mesh.to_string()),
                        fmt::format("give it a size, for example: {}", module_.mesh.to_string()));
      }
      new_axis_.push_back(*found);
    }
  }

  std::string file() const { return module_.source.empty() ? "the program" : module_.source; }

  int64_t new_size(const AxisRef& axis) const {
    return mesh_.axis_size(new_axis_[static_cast<size_t>(axis.axis)]);
  }

  void check_axes(const AxisList& axes, const std::string& place) const {
    for (const AxisRef& axis : axes) {
      const int64_t size = new_size(axis);
      if (axis.is_full() || is_factor(axis.pre, axis.size, size)) continue;
      const std::string& name = module_.mesh.axes()[static_cast<size_t>(axis.axis)].name;
      throw UserError(
          place,
          fmt::format("the sub-axis {} does not divide the size {} that --mesh gives \"{}\"",
                      to_string(axis, module_.mesh), size, name),
          fmt::format("choose a multiple of {} for \"{}\"", axis.pre * axis.size, name));
    }
  }

  void check_manual(const Op& op, const std::string& place) const {
    const auto* manual = std::get_if<ManualComputationAttrs>(&op.attrs.get());
    if (manual == nullptr) return;
    for (const AxisRef& axis : manual->manual_axes) {
      const int64_t old_size = module_.mesh.axis_size(axis.axis);
      if (new_size(axis) == old_size) continue;
      const std::string& name = module_.mesh.axes()[static_cast<size_t>(axis.axis)].name;
      throw UserError(
          place,
          fmt::format(
              "a manual computation over \"{}\" cannot run on another mesh: its manual axes "
              "fix the size, {}={} in {}, {}={} in --mesh",
              name, name, old_size, file(), name, new_size(axis)),
          fmt::format("run it with {}={}, or export the program for the other mesh", name,
                      old_size));
    }
  }

  void check_devices(const Op& op, const std::string& place) const {
    if (!names_devices(op.attrs)) return;
    throw UserError(place,
                    fmt::format("a collective names its devices by number, which holds only for "
                                "the mesh {} of {}",
                                module_.mesh.to_string(), file()),
                    "run it on that mesh, or export the program for the other mesh");
  }

  void check(Function& fn) const {
    const auto check_sharding_of = [&](const ShardingRef& sharding, const std::string& place) {
      if (sharding == nullptr) return;
      Sharding copy = *sharding;
      visit_axes_of_sharding(copy, [&](AxisList& axes) { check_axes(axes, place); });
    };
    for (size_t i = 0; i < fn.arguments().size(); ++i) {
      const bool named = i < fn.argument_info.size() && !fn.argument_info[i].name.empty();
      check_sharding_of(fn.value(fn.arguments()[i]).sharding,
                        named ? fmt::format("parameter \"{}\"", fn.argument_info[i].name)
                              : fmt::format("argument {} of {}", i, fn.name()));
    }
    for (size_t i = 0; i < fn.result_info.size(); ++i) {
      check_sharding_of(fn.result_info[i].sharding, fmt::format("result {} of {}", i, fn.name()));
    }
    walk(fn, [&](OpId id) {
      Op& op = fn.op(id);
      const auto place = [&] { return op.location ? op.location->to_string() : file(); };
      check_manual(op, place());
      check_devices(op, place());
      visit_axes_of_attrs(op.attrs.get(), [&](AxisList& axes) { check_axes(axes, place()); });
      for (ValueId result : op.results) check_sharding_of(fn.value(result).sharding, place());
    });
  }

  void rewrite_axes(AxisList& axes) const {
    for (AxisRef& axis : axes) {
      if (axis.pre == 1 && axis.size == new_size(axis)) axis.size = 0;  // the whole axis now
      axis.axis = new_axis_[static_cast<size_t>(axis.axis)];
    }
  }

  void rewrite(ShardingRef& sharding) const {
    if (sharding == nullptr) return;
    Sharding copy = *sharding;
    visit_axes_of_sharding(copy, [&](AxisList& axes) { rewrite_axes(axes); });
    sharding = std::make_shared<const Sharding>(std::move(copy));
  }

  void rewrite(Function& fn) const {
    for (size_t v = 0; v < fn.num_value_ids(); ++v) {
      rewrite(fn.value(static_cast<ValueId>(v)).sharding);
    }
    for (ResultInfo& result : fn.result_info) rewrite(result.sharding);
    walk(fn, [&](OpId id) {
      visit_axes_of_attrs(fn.op(id).attrs.get(), [&](AxisList& axes) { rewrite_axes(axes); });
    });
  }

  Module& module_;
  const Mesh& mesh_;
  std::vector<int> new_axis_;  // by the file's
};

}  // namespace

void set_mesh(Module& module, const Mesh& mesh) { Remesh(module, mesh).run(); }

}  // namespace spmd
