// Reading a program in whatever format it comes.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "frontends/import_options.h"
#include "frontends/onnx/parameters.h"
#include "ir/module.h"

namespace spmd {

// Reads and verifies a program: StableHLO text or bytecode, a file of jax.export, HLO text, XLA's
// HloModuleProto (bare, in an HloProto or in an HloSnapshot), an ONNX model, or spmd's own module
// file, each also gzipped. The format is recognised by content; names and extensions mean nothing.
// Throws UserError with place, fact and remedy for what cannot be read, formats that are recognised
// but not supported among them.
Module import_file(const std::string& path, const ImportOptions& options = {});

// The same from memory; `source` is the path that the bytes came from, or names them in messages.
Module import_bytes(std::string_view bytes, const std::string& source,
                    const ImportOptions& options = {});

// The values that the file itself has for arguments of the program, by their names: the parameters
// of an ONNX model. Null for other formats.
std::unique_ptr<OnnxParameters> read_parameters(std::string_view bytes, const std::string& source);

}  // namespace spmd
