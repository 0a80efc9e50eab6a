// The first line of HLO text: `HloModule name, attribute=value, ...`.
#pragma once

#include "frontends/hlo_proto/hlo.pb.h"
#include "support/scanner.h"

namespace spmd::hlo_text {

struct Header {
  int64_t num_devices = 0;  // partitions times replicas, where either is said
};

// Puts the module's name, aliasing, donors, signature and frontend attributes into `module`. Throws
// UserError for attributes that HLO does not have, and for modules that are scheduled: XLA has
// optimised them.
Header scan_header(Scanner& scan, hlo::HloModuleProto& module);

}  // namespace spmd::hlo_text
