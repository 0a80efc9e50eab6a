// Variation: along which mesh axes the values of manual computations may differ from device to
// device.
#pragma once

#include <vector>

#include "ir/module.h"

namespace spmd {

using AxisMask = uint64_t;  // bit per mesh axis

enum class VariationSource : uint8_t {
  kEverything,     // numbers of devices, and shards of operands
  kDeviceNumbers,  // partition_id and axis_index alone
};

// Conservative: values may vary wherever what they are made of does.
class Variation {
 public:
  Variation(const Module& module, VariationSource source);

  // Axes of the manual computations around a value of main along which it may vary.
  AxisMask of(ValueId value) const;
  // Whether every result of a manual computation is the same along the axes of that computation
  // which the result's sharding does not name.
  bool well_defined() const { return well_defined_; }

 private:
  // `around`: the manual axes of the computations that the block is in.
  void visit(BlockId block, AxisMask around);
  void visit_op(const Op& op, AxisMask around);
  void visit_manual(const Op& op, AxisMask around);
  void visit_while(const Op& op, AxisMask around);
  void visit_branches(const Op& op, AxisMask around);
  AxisMask after(const Op& op, AxisMask mask, AxisMask around) const;

  const Module& module_;
  const Function& fn_;
  VariationSource source_;
  std::vector<AxisMask> varying_;  // by value
  bool well_defined_ = true;
};

// The axes along which the members of a collective's groups differ; 0 for other ops.
AxisMask axes_spanned(const Op& op, const Mesh& mesh);

}  // namespace spmd
