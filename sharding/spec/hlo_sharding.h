// HLO shardings: what OpSharding messages and `mhlo.sharding` strings say, before it is read
// against a mesh.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/spec/tile_assignment.h"

namespace spmd {

struct HloSharding {
  enum class Kind : uint8_t {
    kUnknown,  // says nothing
    kReplicated,
    kMaximal,    // on one device
    kManual,     // shapes are per device
    kUnreduced,  // partial values on all devices
    kTiled,      // `tiles`
    kNamed,      // `named` over the axes of `mesh`
    kTuple,      // `elements`
  };
  Kind kind = Kind::kUnknown;
  int64_t device = 0;
  TileAssignment tiles;
  Mesh mesh;
  Sharding named;
  std::vector<HloSharding> elements;
};

// Parses "{devices=[4,2]<=[8]}" and all other forms; "" is unknown. `place` begins the message of
// the UserError for malformed text.
HloSharding parse_hlo_sharding(std::string_view text, const std::string& place);

// Axes of a mesh, which name device groups: "mesh['x'=2,'y'=4] {'x'}", perhaps with ", device_ids="
// after the mesh.
struct HloMeshAxes {
  Mesh mesh;
  AxisList axes;
};
HloMeshAxes parse_hlo_mesh_axes(std::string_view text, const std::string& place);

// The sharding on `mesh` of a tensor of `rank`, closed in every dimension; nullopt when unknown.
// Maximal is read as replicated, which kMaximalNote says: the device that is meant has the value
// too. Manual uses all axes.
// Throws UserError, without a place, when the mesh cannot realise it; a tuple must have been taken
// apart.
std::optional<Sharding> sharding_from_hlo(const HloSharding& hlo, const Mesh& mesh, int64_t rank);

inline constexpr const char* kMaximalNote =
    "a maximal sharding, of a tensor on one device, is read as replicated: every device holds it";

// One sharding per value of a tuple of `count` values: the elements of a tuple sharding, or the one
// sharding that holds for all of them.
std::vector<HloSharding> elements_of(const HloSharding& hlo, size_t count);

// Mesh for a module that has only HLO shardings; see mesh_from_tiles. The mesh of named shardings
// is taken as it is. Throws UserError, without a place.
Mesh mesh_from_hlo(const std::vector<HloSharding>& shardings, int64_t num_devices);

}  // namespace spmd
