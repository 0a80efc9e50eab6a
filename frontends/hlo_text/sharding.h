// Shardings and device groups as HLO text writes them.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

// {devices=[2,4]<=[8]}, {mesh['a'=2], [{'a'}, {}]}, {{replicated}, {manual}}, ...
void scan_sharding(Scanner& scan, hlo::OpSharding& sharding);

// {{0,1},{2,3}}, [2,4]<=[4,2]T(1,0), or mesh['x'=2,'y'=4] {'x'}.
void scan_replica_groups(Scanner& scan, hlo::HloInstructionProto& instruction);

// {{0,1},{1,0}}
void scan_source_target_pairs(Scanner& scan, hlo::HloInstructionProto& instruction);

}  // namespace spmd::hlo_text
