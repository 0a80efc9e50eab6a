// HloModuleProto to Module.
#pragma once

#include <string>

#include "ir/module.h"

namespace spmd {

namespace hlo {
class HloModuleProto;
}

// Builds the module that `proto` describes: the entry computation as main(), computations that are
// called as private functions, others as regions; tuples are flattened. `source` names the file in
// messages. Throws UserError; opcodes and custom-call targets without a meaning here are all listed
// at once. The result is verified.
Module import_hlo(const hlo::HloModuleProto& proto, const std::string& source);

}  // namespace spmd
