#include "passes/check_uniformity.h"

#include <fmt/format.h>

#include "ir/describe.h"
#include "passes/analysis/variation.h"
#include "support/error.h"

namespace spmd {
namespace {

class UniformityChecker {
 public:
  explicit UniformityChecker(const Module& module)
      : mesh_(module.mesh),
        fn_(module.main()),
        variation_(module, VariationSource::kDeviceNumbers) {}

  void run() { visit(fn_.body(), /*manual=*/false, 0); }

 private:
  // `diverging`: axes along which devices may not get here together.
  void visit(BlockId block, bool manual, AxisMask diverging) {
    for_each_op(fn_, block, [&](OpId id) { visit_op(fn_.op(id), manual, diverging); });
  }

  void visit_op(const Op& op, bool manual, AxisMask diverging) {
    if (op.code == OpCode::kPartitionId && !manual && mesh_.num_devices() > 1) {
      throw UserError(place_of(op), "on global values a program has no partition number",
                      "use it inside a manual_computation over all axes of the mesh");
    }
    if ((axes_spanned(op, mesh_) & diverging) != 0) refuse(op, diverging);
    for (BlockId region : op.regions) {
      visit(region, manual || op.code == OpCode::kManualComputation, diverging | condition(op));
    }
  }

  // Axes along which devices may go through the op's regions differently.
  AxisMask condition(const Op& op) const {
    switch (op.code) {
      case OpCode::kIf:
      case OpCode::kCase:
        return variation_.of(op.operands[0]);
      case OpCode::kWhile:
        return variation_.of(fn_.op(fn_.terminator(op.regions[0])).operands[0]);
      default:
        return 0;
    }
  }

  [[noreturn]] void refuse(const Op& op, AxisMask diverging) const {
    std::string axes;
    for (int axis = 0; axis < mesh_.num_axes(); ++axis) {
      if ((axes_spanned(op, mesh_) & diverging) >> axis & 1) {
        axes += (axes.empty() ? "" : ", ") + mesh_.axes()[static_cast<size_t>(axis)].name;
      }
    }
    throw UserError(place_of(op),
                    fmt::format("a collective among devices along {}, in a branch or loop whose "
                                "condition depends on the device's number along it: devices that "
                                "do not come would be waited for",
                                axes),
                    "move it out of the branch, and select among results by the condition");
  }

  const Mesh& mesh_;
  const Function& fn_;
  Variation variation_;
};

}  // namespace

Pass check_uniformity_pass() {
  return {"check_uniformity", "refuse collectives that not all devices would reach",
          [](Module& module, PassContext&) {
            if (module.mesh.num_axes() > 0) UniformityChecker(module).run();
            return false;
          }};
}

}  // namespace spmd
