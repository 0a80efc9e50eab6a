// ONNX models to Module.
#pragma once

#include <string>
#include <string_view>

#include "frontends/import_options.h"
#include "ir/module.h"

namespace spmd {

// Reads a serialised ModelProto: the graph becomes main(), functions are inlined, initializers that
// hold floats (or many integers) become arguments named as they are, after the graph's inputs; what
// depends on constants and on shapes alone is folded. `source` names the bytes in messages. Throws
// UserError; ops without a meaning here are all listed at once, and so are dimensions without a
// size. The result is verified.
Module import_onnx(std::string_view bytes, const std::string& source,
                   const ImportOptions& options = {});

}  // namespace spmd
