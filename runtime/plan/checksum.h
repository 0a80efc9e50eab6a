// The checksum of a serialised Plan: its last field (16, a fixed64) is XXH3 with 64 bits of all
// bytes before it. It guards what the verifier cannot see, such as compiled code.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace spmd::plan {

// XXH3 with 64 bits.
uint64_t checksum(std::string_view bytes);

void append_checksum(std::string& bytes);

// The bytes before the checksum. Throws UserError when it is not there or is another one; `source`
// names the bytes in messages.
std::string_view without_checksum(std::string_view bytes, const std::string& source);

}  // namespace spmd::plan
