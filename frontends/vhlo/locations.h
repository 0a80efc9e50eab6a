// Locations, which MLIR has as attributes.
#pragma once

#include <optional>
#include <vector>

#include "frontends/vhlo/attributes.h"
#include "ir/module.h"

namespace spmd::vhlo {

class LocationTable {
 public:
  LocationTable(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container,
                AttributeTable& attributes);

  // Null when it says nothing. As in text, the first part of a call stack or of a fused location
  // that has a name gives the name, and the same of files.
  LocationRef at(uint32_t index);

 private:
  Location decode(uint32_t index);

  const mlir_bytecode::Origin& origin_;
  const mlir_bytecode::Container& container_;
  AttributeTable& attributes_;
  std::vector<std::optional<LocationRef>> locations_;
  int depth_ = 0;
};

}  // namespace spmd::vhlo
