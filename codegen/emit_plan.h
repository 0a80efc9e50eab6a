// From a localised module to a Plan.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "codegen/fuse_rows.h"
#include "ir/module.h"
#include "runtime/plan/plan.pb.h"
#include "sharding/spec/axis.h"

namespace spmd {

// What an argument or result of main() is globally: its name, its unpadded shape, and for each
// dimension the mesh axes, major to minor, that cut it into blocks of the local size.
struct GlobalTensor {
  std::string name;
  Dims shape;
  std::vector<AxisList> axes;
  int64_t index_bound = 0;  // see plan.proto
};

// An argument and a result of main(), by number, that are no part of what the program takes and
// gives: the Plan's Carried. The argument is the converted argument `source`. They come after all
// others.
struct CarriedValue {
  int argument = -1, result = -1, source = -1;
};

struct EmitInfo {
  std::vector<GlobalTensor> arguments, results;
  std::vector<CarriedValue> carried;
  // Collectives that can are combined up to so many bytes a call; 0: none are.
  int64_t combine_bytes = int64_t{32} << 20;
  // Reductions are fused with what surrounds them; only for a device that gets compiled kernels.
  std::optional<codegen::FuseRowsOptions> fuse_rows;
  // Products get epilogues and the order in which they are read (codegen/dot_epilogues.h,
  // product_layout.h); for a device whose library does that.
  bool shape_products = false;
  // Small steps that are alike become one (codegen/group_steps.h); for a device that takes longer
  // to start them than to do them.
  bool group_steps = false;
  bool streams = false;  // collectives get one of their own (codegen/assign_streams.h)
  std::vector<codegen::FusionNote>* fusions = nullptr;  // gets what has been fused so
};

// Of a module without shardings, where local and global are the same.
EmitInfo unsharded_info(const Module& module);

// Emits the plan of main(). Shapes are local; collectives are explicit; there are no calls,
// reshards, sharding constraints and manual computations. Statistics are left to the caller.
// Linear in the number of ops but for sorting. Throws UserError for what no step can express: a
// custom call, a reducer that is not scalar arithmetic, an unknown reduction of a collective.
plan::Plan emit_plan(const Module& module, const EmitInfo& info);

}  // namespace spmd
