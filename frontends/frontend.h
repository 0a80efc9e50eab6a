// Reading a program in whatever format it comes.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// Reads and verifies a program: StableHLO text, HLO text, XLA's HloModuleProto (bare, in an
// HloProto or in an HloSnapshot), or spmd's own module file, each also gzipped. The format is
// recognised by content; names and extensions mean nothing. Throws UserError with place, fact and
// remedy for what cannot be read, formats that are recognised but not supported among them.
Module import_file(const std::string& path);

// The same from memory; `source` names the bytes in messages.
Module import_bytes(std::string_view bytes, const std::string& source);

}  // namespace spmd
