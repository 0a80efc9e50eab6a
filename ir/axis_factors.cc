#include "ir/axis_factors.h"

#include <algorithm>

#include "ir/axis_lists.h"
#include "sharding/spec/axis_factors.h"

namespace spmd {
namespace {

// The parts of axes in a module, each once.
class PartsOfAxes {
 public:
  AxisList run(const Module& module) {
    for (const auto& fn : module.functions()) {
      for (ValueId argument : fn->arguments()) add(fn->value(argument).sharding);
      for (const ResultInfo& info : fn->result_info) add(info.sharding);
      walk(*fn, [&](OpId id) {
        const Op& op = fn->op(id);
        visit_axes_of_attrs(op.attrs.get(), [&](const AxisList& axes) { add(axes); });
        for (ValueId result : op.results) add(fn->value(result).sharding);
      });
    }
    return std::move(parts_);
  }

 private:
  void add(const AxisList& axes) {
    for (const AxisRef& axis : axes)
      if (!axis.is_full() && std::find(parts_.begin(), parts_.end(), axis) == parts_.end())
        parts_.push_back(axis);
  }
  void add(const ShardingRef& sharding) {
    if (sharding != nullptr) add(axes_of(*sharding));
  }

  AxisList parts_;
};

}  // namespace

void choose_axis_factors(Module& module) { choose_factors(PartsOfAxes().run(module), module.mesh); }

}  // namespace spmd
