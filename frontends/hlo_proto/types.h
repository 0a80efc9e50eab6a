// Shapes: element types, and tuples as the list of their leaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/hlo_proto/hlo.pb.h"
#include "ir/type.h"

namespace spmd::hlo_proto {

std::optional<DType> dtype_of(hlo::PrimitiveType type);
// As HLO text spells it: "f32", "f8e4m3fn"; of an unknown type its number.
std::string name_of(hlo::PrimitiveType type);
// nullopt for what is no name.
std::optional<hlo::PrimitiveType> primitive_type_named(std::string_view name);

// The type of a shape that is no tuple. Throws UserError(place, ...) for dynamic, negative and
// overflowing sizes and for element types that are not supported.
TensorType type_of(const hlo::ShapeProto& shape, const std::string& place);

// Types of the leaves in depth-first order; of a shape that is no tuple, its own.
void append_leaf_types(const hlo::ShapeProto& shape, const std::string& place,
                       std::vector<TensorType>& types);
std::vector<TensorType> leaf_types(const hlo::ShapeProto& shape, const std::string& place);

int64_t count_leaves(const hlo::ShapeProto& shape);

// A part of a tuple's leaves.
struct LeafRange {
  int64_t first = 0, count = 0;
};

}  // namespace spmd::hlo_proto
