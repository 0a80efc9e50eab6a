// Who takes part in a collective: all three forms of replica groups.
#pragma once

#include "frontends/hlo_proto/emitter.h"

namespace spmd::hlo_proto {

// Along mesh axes where the groups are those of axes, else listed. Group members are device
// numbers: a program has either replicas or partitions, never both.
CollectiveGroups groups_of(ModuleContext& context, const Instruction& instruction);

// Devices per group.
int64_t group_size(const CollectiveGroups& groups, const Mesh& mesh);

}  // namespace spmd::hlo_proto
