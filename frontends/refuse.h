// What to say about formats that are not read.
#pragma once

#include <string>

#include "frontends/sniff.h"

namespace spmd {

// Throws the UserError for a format that sniff() recognises and nothing reads.
[[noreturn]] void refuse(Format format, const std::string& source);

}  // namespace spmd
