// Files as bytes.
#pragma once

#include <string>

namespace spmd {

// Reads a file (or pipe) once, whole. Throws UserError when it does not exist, is a directory,
// cannot be read or is too large.
std::string read_file(const std::string& path);

}  // namespace spmd
