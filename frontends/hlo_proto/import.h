// HloModuleProto to Module.
#pragma once

#include <string>

#include "ir/module.h"

namespace spmd {

namespace hlo {
class HloInstructionProto;
class HloModuleProto;
}  // namespace hlo

// Where instructions stand in the text that a module was read from.
class InstructionPlaces {
 public:
  virtual ~InstructionPlaces() = default;
  // "file:line:col"
  virtual std::string place_of(const hlo::HloInstructionProto& instruction) const = 0;
  virtual int line_of(const hlo::HloInstructionProto& instruction) const = 0;
};

struct HloImportOptions {
  const InstructionPlaces* places = nullptr;  // null: of a protobuf, which has none
  int64_t num_devices = 0;                    // that the program is for; 0: only its shardings tell
};

// Builds the module that `proto` describes: the entry computation as main(), computations that are
// called as private functions, others as regions; tuples are flattened. `source` names the file in
// messages. Throws UserError; opcodes and custom-call targets without a meaning here are all listed
// at once. The result is verified.
Module import_hlo(const hlo::HloModuleProto& proto, const std::string& source,
                  const HloImportOptions& options = {});

}  // namespace spmd
