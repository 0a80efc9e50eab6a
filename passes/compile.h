// compile: from an imported module to a Plan.
#pragma once

#include <vector>

#include "codegen/fuse_rows.h"
#include "passes/analysis/communication.h"
#include "passes/pass.h"
#include "runtime/plan/plan.pb.h"

namespace spmd {

struct CompileResult {
  plan::Plan plan;
  Module module;  // localised
  std::vector<PassTiming> passes;
  std::vector<Remark> remarks;
  std::vector<CollectiveUse> collectives;
  std::vector<PlacedValue> placements;  // with options.trace_shardings
  int64_t full_rematerializations = 0;
  // Work per rank over global work divided by ranks, padding apart; 1 is none replicated. Of
  // contractions and convolutions (plan.statistics has it too), and of every op.
  double replicated_flops = 1;
  double replicated_operations = 1;
  double compile_ms = 0;
  // Of that, for kernels; and why there are none although options.kernels asks for them.
  double kernels_ms = 0;
  std::string kernels_note;
  std::vector<codegen::FusionNote> fusions;
};

// A pure function of the module (its mesh and shardings included) and the options; what it knows of
// communication and FLOPs is in plan.statistics.
CompileResult compile(Module module, const CompileOptions& options = {},
                      PipelineOptions pipeline = {});

// The same without a Plan: for checks that run nothing.
CompileResult partition(Module module, const CompileOptions& options = {},
                        PipelineOptions pipeline = {});

}  // namespace spmd
