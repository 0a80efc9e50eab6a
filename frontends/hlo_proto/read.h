// Serialised HLO messages.
#pragma once

#include <string>
#include <string_view>

#include "frontends/recorded_run.h"
#include "ir/module.h"

namespace spmd {

// What holds the HloModuleProto.
enum class HloContainer { kModule, kProto, kSnapshot };

// Parses the message and imports its module. Throws UserError; for truncated files with the place
// where they end.
Module read_hlo(std::string_view bytes, HloContainer container, const std::string& source);

// What the message holds beside the module. An HloUnoptimizedSnapshot differs from an HloProto only
// by its arguments.
std::optional<RecordedRun> read_hlo_run(std::string_view bytes, HloContainer container,
                                        const std::string& source);

}  // namespace spmd
