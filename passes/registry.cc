#include "passes/registry.h"

#include "passes/cse.h"
#include "passes/dce.h"
#include "passes/hoist_loop_invariants.h"
#include "passes/inline_calls.h"
#include "passes/simplify.h"
#include "passes/split_fused_projections.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      inline_calls_pass(), simplify_pass(), split_fused_projections_pass(),
      cse_pass(),          dce_pass(),      hoist_loop_invariants_pass(),
  };
  return passes;
}

const Pass& pass_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Pass& pass : all_passes()) {
    if (pass.name == name) return pass;
    known.push_back(pass.name);
  }
  const auto candidate = nearest(name, known);
  throw UserError("pass", fmt::format("there is no pass '{}'", name),
                  candidate ? fmt::format("did you mean '{}'?", *candidate)
                            : fmt::format("the passes are: {}", fmt::join(known, ", ")));
}

}  // namespace spmd
