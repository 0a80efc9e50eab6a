#include "passes/partition/reshard_costs.h"

#include <gtest/gtest.h>

namespace spmd::testing {
namespace {

// A tensor that ranks along y have too is cut over y on its way, so that less of it is exchanged.
// In a computation that is manual along y they hold different tensors.
TEST(ReshardCosts, RanksAlongManualAxesDoNotShareWork) {
  const Mesh mesh({{"x", 3}, {"y", 2}, {"z", 2}});
  const AtomTable atoms(mesh);
  const AtomList x = atoms.to_atoms({{0, 1, 0}}), y = atoms.to_atoms({{1, 1, 0}}),
                 z = atoms.to_atoms({{2, 1, 0}});
  const TensorType type{DType::kF32, {2, 12}};
  CostModel cost;
  cost.latency = 0;
  ReshardCosts costs(atoms, cost);
  Placement from = Placement::replicated(2), to = from;
  from.dims = {{}, z};
  to.dims = {z, x};
  // Blocks of 1x2 over z and y change places (8 B), and the two over y are joined (half of 16 B).
  EXPECT_DOUBLE_EQ(costs.seconds(type, from, to, 0) * cost.bandwidth, 8 + 8);
  // Half of each 2x6 block (48 B) goes to the other rank along z; x cuts what arrives.
  EXPECT_DOUBLE_EQ(costs.seconds(type, from, to, mask_of(y)) * cost.bandwidth, 24);
}

// As the planner is asked for it, by where an op or a value is.
TEST(ReshardCosts, ManualAxesAreThoseOfAllComputationsAround) {
  Module module;
  module.mesh = Mesh({{"x", 2}, {"y", 2}, {"z", 2}});
  const AtomTable atoms(module.mesh);
  Function& fn = module.function(module.add_function("main"));
  const auto manual = [&](BlockId block, int axis) {
    ManualComputationAttrs attrs;
    attrs.manual_axes = {{axis, 1, 0}};
    return fn.add_region(fn.insert_op(block, OpId::kNone, OpCode::kManualComputation, {}, {},
                                      std::move(attrs), nullptr));
  };
  const BlockId outer = manual(fn.body(), 0), inner = manual(outer, 2);
  const TensorType type{DType::kF32, {4}};
  const ValueId outside = fn.add_block_argument(fn.body(), type);
  const ValueId inside = fn.add_block_argument(inner, type);
  EXPECT_EQ(manual_axes_around(fn, outside, atoms), AtomMask{0});
  EXPECT_EQ(manual_axes_around(fn, outer, atoms), AtomMask{0b001});
  EXPECT_EQ(manual_axes_around(fn, inside, atoms), AtomMask{0b101});
}

}  // namespace
}  // namespace spmd::testing
