// One input through one reader.
#pragma once

#include <string>
#include <string_view>

#include "tests/fuzz/targets.h"

namespace spmd::testing {

// What is wrong with the reader's answer; empty when it read the bytes or refused them with a
// UserError that says something.
std::string fault_of(const FuzzTarget& target, std::string_view bytes);

}  // namespace spmd::testing
