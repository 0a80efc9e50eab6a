// Attributes that stand alone, as MLIR bytecode has those without an encoding.
#pragma once

#include "ir/text/attribute.h"

namespace spmd::text {

// Reads one attribute, which is all of the text: `#sdy.sharding<@mesh, [{"x"}]>`. It may point into
// the text, which must outlive it. `place` begins messages.
Attribute parse_attribute_text(std::string_view text, const std::string& place,
                               const MeshLookup& meshes);

}  // namespace spmd::text
