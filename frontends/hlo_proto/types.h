// Shapes: element types, and tuples as the list of their leaves.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/hlo_proto/hlo.pb.h"
#include "ir/type.h"

namespace spmd::hlo_proto {

std::optional<DType> dtype_of(hlo::PrimitiveType type);

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
