// What readers do once a module is complete, before they verify it.
#pragma once

#include "ir/module.h"

namespace spmd {

struct ExpandOptions {
  // Device d of the module is replica d / partitions, partition d % partitions, where there are
  // `replicas` replicas of a mesh's worth of devices in all.
  int64_t replicas = 1;
};

// Rewrites the ops that no later layer knows (OpFamily::kExpanded) into ones that it does; gives
// sizes that follow from constants their values; makes tokens empty tensors; makes checks
// (check.expect_*) results of main, see support/check_results.h. Throws UserError for an op that
// cannot be rewritten: a size that is no constant, a check inside of a loop.
void expand_ops(Module& module, const ExpandOptions& options = {});

}  // namespace spmd
