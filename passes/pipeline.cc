#include "passes/pipeline.h"

#include "passes/chain_reshards.h"
#include "passes/check_custom_calls.h"
#include "passes/check_uniformity.h"
#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/defer_reductions.h"
#include "passes/elementwise_indexing.h"
#include "passes/expand_attention.h"
#include "passes/hoist_loop_invariants.h"
#include "passes/hoist_reshards.h"
#include "passes/inline_calls.h"
#include "passes/insert_reshards.h"
#include "passes/localize.h"
#include "passes/pad_uneven.h"
#include "passes/propagate_shardings.h"
#include "passes/raise_attention.h"
#include "passes/recompute_residuals.h"
#include "passes/reverse_halves.h"
#include "passes/simplify.h"
#include "passes/spare_exchanges.h"
#include "passes/split_fused_projections.h"
#include "passes/split_reductions.h"
#include "passes/split_sharded_fft.h"

namespace spmd {

std::vector<Pass> compile_pipeline(const CompileOptions& options) {
  std::vector<Pass> passes;

  // Simplify: one function, no exporter's detours. Before propagation, because every detour is a
  // place where a sharding can get stuck.
  passes.push_back(inline_calls_pass());
  passes.push_back(check_uniformity_pass());
  passes.push_back(simplify_pass());
  passes.push_back(cse_pass());
  passes.push_back(hoist_loop_invariants_pass());
  passes.push_back(split_fused_projections_pass());
  passes.push_back(simplify_pass());
  passes.push_back(cse_pass());
  passes.push_back(dce_pass());
  passes.push_back(check_custom_calls_pass());

  // Raise: composites in the place of what they consist of.
  passes.push_back(recompute_residuals_pass());
  passes.push_back(simplify_pass());
  passes.push_back(cse_pass());
  passes.push_back(dce_pass());
  passes.push_back(raise_attention_pass());
  passes.push_back(simplify_pass());
  passes.push_back(dce_pass());

  // Partition: the module keeps its global meaning until localize.
  passes.push_back(propagate_shardings_pass());
  passes.push_back(split_sharded_fft_pass());
  passes.push_back(insert_reshards_pass());
  passes.push_back(defer_reductions_pass());
  passes.push_back(hoist_reshards_pass());
  passes.push_back(dce_pass());
  passes.push_back(spare_exchanges_pass());
  passes.push_back(hoist_reshards_pass());
  passes.push_back(chain_reshards_pass());
  passes.push_back(dce_pass());
  passes.push_back(pad_uneven_pass());
  passes.push_back(localize_pass());

  passes.push_back(expand_attention_pass());

  // Clean up: what localize wrote twice or wrote for nobody.
  passes.push_back(simplify_pass());
  passes.push_back(cse_pass());
  passes.push_back(dce_pass());
  if (options.kernels == KernelTarget::kCuda) {
    passes.push_back(elementwise_indexing_pass());
    passes.push_back(reverse_halves_pass());
    passes.push_back(dce_pass());
    passes.push_back(split_reductions_pass());
    passes.push_back(simplify_pass());
  }
  return passes;
}

}  // namespace spmd
