// Modules as bytes (ir/module.proto).
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// The schema that this build writes, and the oldest whose files it reads.
inline constexpr uint32_t kModuleVersion = 1;
inline constexpr uint32_t kOldestModuleVersion = 1;

// Whether the bytes begin as a serialised module does.
bool is_serialized_module(std::string_view bytes);

std::string serialize(const Module& module);

// Verifies the module as well. `source` names the bytes in messages. Throws UserError for anything
// that is not a valid module; files of other schema versions are refused before they are decoded,
// naming both versions.
Module deserialize(std::string_view bytes, const std::string& source);

}  // namespace spmd
