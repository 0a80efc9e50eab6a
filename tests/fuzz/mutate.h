// Inputs out of other inputs.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/differential/random.h"

namespace spmd::testing {

// A copy of one of `inputs` (not empty) with a few random changes: bytes and bits changed, parts
// removed, repeated, moved or taken from another input, `words` inserted, numbers replaced by
// extreme ones, the end cut off. Depends on nothing but its arguments.
std::string mutate(std::span<const std::string> inputs, std::span<const std::string_view> words,
                   Random& random);

}  // namespace spmd::testing
