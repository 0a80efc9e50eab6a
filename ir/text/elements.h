// Elements of literals as text, in the spellings that StableHLO and HLO share.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "ir/literal.h"
#include "support/scanner.h"

namespace spmd::text {

// Scans one element of `dtype` and appends it in its stored form: true, -3, 1.5e3, inf, -nan,
// (1.0, -2.0), or a bit pattern 0x7F800000. A float that the type cannot hold is rounded; an
// integer that it cannot hold is a UserError, as is anything else.
void scan_element(Scanner& scan, DType dtype, std::vector<std::byte>& elements);

// The literal of raw bytes, as dense<"0x..."> has them: all elements in their stored form, or one
// that fills the tensor. Booleans take a byte each, or a bit each (lowest first) when there are
// fewer bytes than elements. Nothing when the number of bytes does not fit.
std::optional<Literal> literal_from_bytes(const TensorType& type, std::string_view bytes);

}  // namespace spmd::text
