// Elements of literals as text, in the spellings that StableHLO and HLO share.
#pragma once

#include <cstddef>
#include <vector>

#include "ir/type.h"
#include "support/scanner.h"

namespace spmd::text {

// Scans one element of `dtype` and appends it in its stored form: true, -3, 1.5e3, inf, -nan,
// (1.0, -2.0), or a bit pattern 0x7F800000. A float that the type cannot hold is rounded; an
// integer that it cannot hold is a UserError, as is anything else.
void scan_element(Scanner& scan, DType dtype, std::vector<std::byte>& elements);

}  // namespace spmd::text
