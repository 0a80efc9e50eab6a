// MeshSpec: a mesh as a user writes it, possibly with one size left to be inferred.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/spec/mesh.h"

namespace YAML {
class Node;
}

namespace spmd {

// Size of an axis that is inferred from the number of devices.
inline constexpr int64_t kInferSize = -1;

struct MeshAxisSpec {
  std::string name;
  int64_t size = kInferSize;
  bool operator==(const MeshAxisSpec&) const = default;
};

struct MeshSpec {
  std::vector<MeshAxisSpec> axes;  // major to minor
  std::string place;               // where it was written: "run.yaml:3" or "--mesh"
  // "data=-1,model=2"
  std::string to_string() const;
};

// "data=2,model=4", where a size may be -1. `place` is where it was written. Throws UserError.
MeshSpec parse_mesh_spec(std::string_view text, const std::string& place = "--mesh");

// {axes: {data: -1, model: 2}, order: [data, model]}: `order` is major to minor, without it axes
// are as written. A text is read as by parse_mesh_spec. Throws UserError.
MeshSpec read_mesh_spec(const YAML::Node& node, const std::string& source);

// Infers the size that is left. Throws UserError when `num_devices` does not divide or, without
// one to infer, is not the product.
Mesh resolve_mesh(const MeshSpec& spec, int64_t num_devices);

}  // namespace spmd
