// Attributes of VHLO operations as StableHLO has them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ir/text/attribute.h"

namespace spmd::vhlo {

// Numbers that stand alone in VHLO are entries of dictionaries in StableHLO
// (dot_dimension_numbers), names of functions are symbols, and what a dot's algorithm leaves open
// is not there. `name` is StableHLO's name of the operation.
void to_stablehlo(std::string_view name, std::vector<text::NamedAttribute>& attributes);

// The text of an attribute, as MLIR writes it: `{a = 3 : i64, b = "c"}`.
std::string attribute_text(const text::Attribute& attribute);

}  // namespace spmd::vhlo
