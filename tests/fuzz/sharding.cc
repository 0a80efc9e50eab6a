#include "sharding/annotations/mesh_spec.h"
#include "sharding/spec/hlo_sharding.h"
#include "sharding/spec/sharding_text.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

const Mesh& mesh() {
  static const Mesh shared({{"a", 2}, {"b", 4}});
  return shared;
}

void read_hlo_sharding(std::string_view text) {
  const HloSharding sharding = parse_hlo_sharding(text, "fuzz");
  mesh_from_hlo({sharding}, 0);
  for (const HloSharding& element : elements_of(sharding, 1)) sharding_from_hlo(element, mesh(), 2);
}

// The first byte chooses how the rest is read.
void read_sharding(std::string_view bytes) {
  if (bytes.empty()) return;
  const MeshLookup lookup = [](std::string_view name) {
    return name == "mesh" ? &mesh() : nullptr;
  };
  const std::string_view text = bytes.substr(1);
  switch (bytes[0]) {
    case 'h':
      return read_hlo_sharding(text);
    case 'x':
      parse_hlo_mesh_axes(text, "fuzz");
      return;
    case 's':
      parse_sdy_sharding(text, lookup, "fuzz");
      return;
    case 'v':
      parse_sdy_sharding_per_value(text, lookup, "fuzz");
      return;
    case 'm':
      parse_sdy_meshes(text, "fuzz");
      return;
    case 'a':
      parse_sdy_manual_axes(text, mesh(), "fuzz");
      return;
    default:
      parse_mesh_spec(text);
  }
}

std::vector<std::string> sharding_seeds() {
  return {"h{devices=[4,1,2]<=[2,4]T(1,0) last_tile_dim_replicate}",
          "h{devices=[2,2,2]0,1,2,3,4,5,6,7 last_tile_dims={manual}}",
          "h{{replicated}, {maximal device=0}, {manual}}",
          "h{mesh['a'=2,'b'=4], [{'a'}, {'b':(2)2, ?}], unreduced=max{'b':(1)2}}",
          "h{mesh['a'=2,'b'=4], device_ids=([4,2]T(1,0)), [{'a'}, {}]}",
          "xmesh['a'=2,'b'=4] {'a'}",
          "s#sdy.sharding<@mesh, [{\"a\"}, {\"b\":(1)2, ?}p1], replicated={\"b\":(2)2}>",
          "s#sdy.sharding<mesh<[\"x\"=2], device_ids=[1, 0]>, [{\"x\"}]>",
          "v#sdy.sharding_per_value<[<@mesh, [{\"a\"}]>, <@mesh, [{}]>]>",
          "m{mesh = #sdy.mesh<[\"a\"=2, \"b\"=4]>, one = #sdy.mesh<[], device_ids=[5]>}",
          "a#sdy<manual_axes{\"a\"}>",
          "-a=2,b=-1"};
}

}  // namespace

FuzzTarget sharding_target() {
  return {"sharding",
          read_sharding,
          sharding_seeds,
          {"devices=[",
           "<=[",
           "T(",
           "last_tile_dims={",
           "replicated",
           "manual",
           "unreduced",
           "mesh['",
           "device_ids=(",
           "shard_as 1",
           "metadata={",
           "#sdy.sharding<",
           "@mesh",
           "p1",
           ":(1)2",
           "?",
           "1048576",
           "9223372036854775807",
           "0",
           "-1"}};
}

}  // namespace spmd::testing
