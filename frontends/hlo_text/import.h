// HLO text to Module.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// Reads HLO as XLA writes it before its optimisations: dumps of --xla_dump_to,
// lower(...).as_text("hlo") and as_hlo_text(), with or without `%`, layouts and operand shapes. The
// text becomes the message that the importer of HloModuleProto reads, so both mean the same.
// `source` names the text in messages, which give line and column. Throws UserError; for a module
// that XLA has optimised with the way to the one before.
Module import_hlo_text(std::string_view text, const std::string& source);

}  // namespace spmd
