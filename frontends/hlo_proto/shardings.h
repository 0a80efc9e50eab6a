// Shardings of an HloModuleProto: `xla.sdy.*` attributes where the exporter left them (exact, with
// open dimensions and priorities), else OpSharding.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "frontends/hlo_proto/computations.h"
#include "ir/type.h"
#include "sharding/spec/hlo_sharding.h"
#include "sharding/spec/sharding_text.h"

namespace spmd::hlo_proto {

// The value of a frontend attribute, or null.
const std::string* find_attribute(const hlo::FrontendAttributes& attributes, const char* key);

// op_sharding.cc: from messages, and into them.
HloSharding hlo_sharding_from(const hlo::OpSharding& proto);
Mesh mesh_from(const hlo::MeshProto& proto);
hlo::OpSharding op_sharding_from(const HloSharding& sharding);
hlo::MeshProto mesh_proto_from(const Mesh& mesh);
void set_axes(const AxisList& axes, google::protobuf::RepeatedPtrField<hlo::AxisRefProto>& to);
// Throws UserError(place, ...) for axes that `mesh` does not have.
AxisList axes_from(const google::protobuf::RepeatedPtrField<hlo::AxisRefProto>& protos,
                   const Mesh& mesh, const std::string& place);

class Shardings {
 public:
  // Finds the module's mesh; `num_devices` is 0 when only the shardings tell. Throws UserError when
  // the file's shardings name meshes of different axes, or no mesh fits them.
  Shardings(const hlo::HloModuleProto& proto, const Computations& computations,
            const std::string& source, int64_t num_devices);

  const Mesh& mesh() const { return mesh_; }
  const std::string& mesh_name() const { return mesh_name_; }
  // Whether the file has `xla.sdy.*` shardings: then OpSharding only repeats them.
  bool uses_sdy() const { return uses_sdy_; }

  // One per leaf of the instruction's result, null where nothing is said; empty when nothing is
  // said about any.
  std::vector<ShardingRef> of(const Instruction& instruction, const std::vector<TensorType>& leaves,
                              const std::string& place);
  // Of an OpSharding alone, for modules without sdy attributes.
  std::vector<ShardingRef> of(const hlo::OpSharding& proto, const std::vector<TensorType>& leaves,
                              const std::string& place);
  // Of an attribute's text: `#sdy.sharding<...>` or `#sdy.sharding_per_value<[...]>`.
  // For values of the leaves' types.
  std::vector<ShardingRef> parse(const std::string& text, const std::vector<TensorType>& leaves,
                                 const std::string& place);
  // Where the first maximal sharding stands.
  const std::optional<std::string>& maximal() const { return maximal_; }
  // The meshes that texts of shardings name. Not after this object is gone.
  MeshLookup meshes() const;

 private:
  void find_sdy_mesh(const std::string& text);
  void find_tiled_mesh(const hlo::HloModuleProto& proto, const Computations& computations,
                       int64_t num_devices);
  ShardingRef on_mesh(const NamedSharding& named, int64_t rank, const std::string& place);
  ShardingRef from_hlo(const HloSharding& hlo, int64_t rank, const std::string& place);
  void note_maximal(const std::string& place) {
    if (!maximal_) maximal_ = place;
  }

  std::string source_;
  Mesh mesh_;
  std::string mesh_name_ = "mesh";
  bool uses_sdy_ = false;
  std::vector<std::pair<std::string, Mesh>> named_meshes_;
  std::optional<std::string> maximal_;
  std::unordered_map<std::string, std::vector<ShardingRef>> parsed_;
};

}  // namespace spmd::hlo_proto
