// Gzipped bytes.
#pragma once

#include <string>
#include <string_view>

namespace spmd {

bool is_gzip(std::string_view bytes);

// Decompresses all members. Throws UserError(source, ...) when the data is damaged, ends early or
// grows beyond what a program can be.
std::string gunzip(std::string_view bytes, const std::string& source);

}  // namespace spmd
