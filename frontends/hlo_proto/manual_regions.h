// Parts of a computation in which shapes are per device: what shard_map became. They begin at
// markers (custom calls xla.sdy.GlobalToLocalShape or SPMDFullToShardShape) and end at markers
// (xla.sdy.LocalToGlobalShape or SPMDShardToFullShape); between them stand a call of the body or
// the body itself. Each such part becomes one manual_computation.
#pragma once

#include <vector>

#include "frontends/hlo_proto/emitter.h"

namespace spmd::hlo_proto {

// Instruction numbers, each list in the computation's order.
struct ManualRegion {
  std::vector<int> entries;   // markers
  std::vector<int> captured;  // constants from outside, emitted again inside
  std::vector<int> body;
  std::vector<int> exits;  // markers
};

class ManualRegions {
 public:
  // Throws UserError when values pass a region's border without a marker, or two regions need each
  // other's results.
  ManualRegions(ModuleContext& context, const Computation& computation);

  // All instructions in an order in which a region can be emitted as a whole at its first exit; of
  // a region only that exit is listed.
  const std::vector<int>& order() const { return order_; }
  // Whether an instruction belongs to a region, markers included.
  bool is_local(int number) const {
    return !region_of_.empty() && region_of_[static_cast<size_t>(number)] >= 0;
  }
  // The region to emit at an instruction, or null.
  const ManualRegion* starting_at(int number) const;

 private:
  void find_regions();
  void group();
  void capture(int number);
  void schedule();
  void visit(int node, std::vector<char>& state);
  std::vector<int> dependencies(int node) const;
  int node_of(int number) const;

  ModuleContext& context_;
  const Computation& computation_;
  std::vector<int> region_of_;  // per instruction, -1: none; empty when there are no regions
  std::vector<ManualRegion> regions_;
  std::vector<bool> constant_;  // depends on no parameter
  std::vector<int> order_;
};

// Emits the region as one op, and so defines its exits.
void emit_manual(Emitter& emitter, const ManualRegion& region);

}  // namespace spmd::hlo_proto
