// Text from files, made fit for a terminal.
#pragma once

#include <string>
#include <string_view>

namespace spmd {

// The text with everything but newlines, tabs and printable UTF-8 written as \xNN: names in a
// damaged file may hold any bytes, among them those that move the cursor.
std::string printable(std::string_view text);

}  // namespace spmd
