// Text of meshes and shardings as the sdy dialect writes them.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "sharding/spec/sharding.h"
#include "support/scanner.h"

namespace spmd {

// A sharding together with the mesh that it names.
struct NamedSharding {
  std::string mesh_name;  // empty: `mesh` was written in place
  Mesh mesh;
  Sharding sharding;
};

// The mesh of a name, or null. Owned by the caller.
using MeshLookup = std::function<const Mesh*(std::string_view name)>;

// Each scans one construct at the scanner's position and throws UserError at the offending place:
//   <["x"=2, "y"=4], device_ids=[...]>                        scan_mesh
//   <@mesh, [{"x"}, {?}], replicated={...}, unreduced={...}>  scan_sharding
//   [<...>, <...>]                                            scan_shardings
//   {"x", "y":(1)2}                                           scan_axes
Mesh scan_mesh(Scanner& scan);
NamedSharding scan_sharding(Scanner& scan, const MeshLookup& meshes);
std::vector<NamedSharding> scan_shardings(Scanner& scan, const MeshLookup& meshes);
AxisList scan_axes(Scanner& scan, const Mesh& mesh);

// Whole strings, as frontend attributes hold them: `#sdy.sharding<...>`,
// `#sdy.sharding_per_value<[...]>`, `{name = #sdy.mesh<...>, ...}`, `#sdy<manual_axes{"a"}>`.
// Quotes may be escaped as \22 or \". `place` begins messages.
NamedSharding parse_sdy_sharding(std::string_view text, const MeshLookup& meshes,
                                 const std::string& place);
std::vector<NamedSharding> parse_sdy_sharding_per_value(std::string_view text,
                                                        const MeshLookup& meshes,
                                                        const std::string& place);
std::vector<std::pair<std::string, Mesh>> parse_sdy_meshes(std::string_view text,
                                                           const std::string& place);
AxisList parse_sdy_manual_axes(std::string_view text, const Mesh& mesh, const std::string& place);

// `<["x"=2, "y"=4], device_ids=[1, 0, ...]>`
std::string mesh_text(const Mesh& mesh);
// `<@mesh, [{"x"}, {?}], replicated={"y"}>`
std::string sharding_text(const Sharding& sharding, const Mesh& mesh, std::string_view mesh_name);
// `{"x", "y":(1)2}`
std::string axes_text(const AxisList& axes, const Mesh& mesh);

}  // namespace spmd
