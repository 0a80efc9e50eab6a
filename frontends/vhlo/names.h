// Names of VHLO, which has a version in each, and of what StableHLO calls the same.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd::vhlo {

// "stablehlo.add" of "add_v1", "func.call" of "call_v1"; nothing when the name has no version.
std::optional<std::string> stablehlo_name(std::string_view vhlo_name);

// The attributes that an operation has as properties, whose encoding is a list of values in this
// order; nothing for an operation that is not known. A name that ends in '?' may be missing.
std::optional<std::vector<std::string_view>> property_names(std::string_view dialect,
                                                            std::string_view name);

}  // namespace spmd::vhlo
