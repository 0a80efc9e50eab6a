// Files of jax.export to Module.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// Reads what jax.export.export(f)(...).serialize() returns: a flatbuffer whose root table holds the
// program as bytecode (see import_vhlo()). Derivatives that are stored with it are not read.
// `source` names the file in messages, which give offsets of bytes. Throws UserError.
Module import_jax_export(std::string_view bytes, const std::string& source);

}  // namespace spmd
