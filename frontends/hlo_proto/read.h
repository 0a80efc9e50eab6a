// Serialised HLO messages.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// What holds the HloModuleProto.
enum class HloContainer { kModule, kProto, kSnapshot };

// Parses the message and imports its module. Throws UserError; for truncated files with the place
// where they end.
Module read_hlo(std::string_view bytes, HloContainer container, const std::string& source);

}  // namespace spmd
