// The entry's signature: names, shardings and aliasing of arguments and results.
#pragma once

#include "frontends/hlo_proto/emitter.h"

namespace spmd::hlo_proto {

// Adds main()'s arguments with names and shardings; returns their leaves per parameter.
std::vector<std::vector<ValueId>> add_entry_arguments(ModuleContext& context,
                                                      const hlo::HloModuleProto& proto,
                                                      Function& main);

// Sizes and fills result_info, and the arguments' aliasing, once main()'s body is complete.
void add_entry_results(ModuleContext& context, const hlo::HloModuleProto& proto, Function& main);

}  // namespace spmd::hlo_proto
