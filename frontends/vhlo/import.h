// MLIR bytecode that holds VHLO (a StableHLO portable artifact) to Module.
#pragma once

#include <string>
#include <string_view>

#include "ir/module.h"

namespace spmd {

// Reads what stablehlo.serialize_portable_artifact, stablehlo-translate --serialize and jax.export
// write, versions 0.9.0 to 1.22.0. The module is that of the same program's text. `source` names
// the file in messages, which give offsets of bytes; `base` is the offset of `bytes` in the file.
// Throws UserError; operations that are not in the op table are all listed at once.
Module import_vhlo(std::string_view bytes, const std::string& source, size_t base = 0);

}  // namespace spmd
