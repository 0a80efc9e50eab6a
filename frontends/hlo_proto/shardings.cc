#include "frontends/hlo_proto/shardings.h"

#include "frontends/at_place.h"

namespace spmd::hlo_proto {
namespace {

ShardingRef share(Sharding sharding) {
  return std::make_shared<const Sharding>(std::move(sharding));
}

bool says_anything(const std::vector<ShardingRef>& shardings) {
  for (const ShardingRef& sharding : shardings) {
    if (sharding != nullptr) return true;
  }
  return false;
}

// The leaves of a tuple sharding, to as many as the tuple has. A single sharding is that of every
// leaf.
void append_leaves(const HloSharding& hlo, std::vector<const HloSharding*>& leaves) {
  if (hlo.kind != HloSharding::Kind::kTuple) {
    leaves.push_back(&hlo);
    return;
  }
  for (const HloSharding& element : hlo.elements) append_leaves(element, leaves);
}

}  // namespace

Shardings::Shardings(const hlo::HloModuleProto& proto, const Computations& computations,
                     const std::string& source, int64_t num_devices)
    : source_(source) {
  if (const std::string* meshes = find_attribute(proto.frontend_attributes(), "xla.sdy.meshes")) {
    find_sdy_mesh(*meshes);
  } else {
    find_tiled_mesh(proto, computations, num_devices);
  }
}

void Shardings::find_sdy_mesh(const std::string& text) {
  uses_sdy_ = true;
  named_meshes_ = parse_sdy_meshes(text, source_ + ": frontend attribute xla.sdy.meshes");
  for (const auto& [name, mesh] : named_meshes_) {
    if (mesh.num_axes() == 0) continue;
    mesh_name_ = name;
    mesh_ = mesh;
    return;
  }
}

void Shardings::find_tiled_mesh(const hlo::HloModuleProto& proto, const Computations& computations,
                                int64_t num_devices) {
  std::vector<HloSharding> found;
  std::unordered_map<std::string, bool> seen;  // serialised messages: most are alike
  const auto add = [&](const hlo::OpSharding& sharding) {
    if (!seen.emplace(sharding.SerializeAsString(), true).second) return;
    found.push_back(at_place(source_, [&] { return hlo_sharding_from(sharding); }));
  };
  for (const hlo::OpSharding& sharding : proto.spmd_parameters_shardings()) add(sharding);
  if (proto.has_spmd_output_sharding()) add(proto.spmd_output_sharding());
  for (int i = 0; i < computations.size(); ++i) {
    for (const Instruction& instruction : computations.at(i).proto->instructions()) {
      if (instruction.has_sharding()) add(instruction.sharding());
    }
  }
  mesh_ = at_place(source_, [&] { return mesh_from_hlo(found, num_devices); });
}

ShardingRef Shardings::on_mesh(const NamedSharding& named, int64_t rank, const std::string& place) {
  if (named.mesh.is_maximal()) note_maximal(place);
  return at_place(place,
                  [&] { return share(sharding_on_mesh(named.sharding, named.mesh, mesh_, rank)); });
}

MeshLookup Shardings::meshes() const {
  return [this](std::string_view name) -> const Mesh* {
    for (const auto& [known, mesh] : named_meshes_) {
      if (known == name) return &mesh;
    }
    return nullptr;
  };
}

std::vector<ShardingRef> Shardings::parse(const std::string& text,
                                          const std::vector<TensorType>& leaves,
                                          const std::string& place) {
  std::string key = text;
  for (const TensorType& leaf : leaves) key += fmt::format("/{}", leaf.rank());
  const auto found = parsed_.find(key);
  if (found != parsed_.end()) return found->second;
  const MeshLookup lookup = meshes();
  std::vector<ShardingRef> shardings;
  // Callers refuse another number of them than of leaves.
  const auto add = [&](const NamedSharding& named) {
    const size_t i = shardings.size();
    const int64_t rank = i < leaves.size() ? leaves[i].rank() : named.sharding.rank();
    shardings.push_back(on_mesh(named, rank, place));
  };
  if (text.find("sharding_per_value") == std::string::npos) {
    add(parse_sdy_sharding(text, lookup, place));
  } else {
    for (const NamedSharding& named : parse_sdy_sharding_per_value(text, lookup, place)) add(named);
  }
  parsed_.emplace(std::move(key), shardings);
  return shardings;
}

ShardingRef Shardings::from_hlo(const HloSharding& hlo, int64_t rank, const std::string& place) {
  if (hlo.kind == HloSharding::Kind::kMaximal) note_maximal(place);
  return at_place(place, [&]() -> ShardingRef {
    std::optional<Sharding> sharding = sharding_from_hlo(hlo, mesh_, rank);
    return sharding ? share(std::move(*sharding)) : nullptr;
  });
}

std::vector<ShardingRef> Shardings::of(const hlo::OpSharding& proto,
                                       const std::vector<TensorType>& leaves,
                                       const std::string& place) {
  std::string key = proto.SerializeAsString();
  for (const TensorType& leaf : leaves) key += fmt::format("/{}", leaf.rank());
  const auto found = parsed_.find(key);
  if (found != parsed_.end()) return found->second;

  const HloSharding hlo = at_place(place, [&] { return hlo_sharding_from(proto); });
  std::vector<const HloSharding*> parts;
  append_leaves(hlo, parts);
  if (hlo.kind != HloSharding::Kind::kTuple) parts.assign(leaves.size(), &hlo);
  if (parts.size() != leaves.size()) {
    throw UserError(place,
                    fmt::format("found {} shardings for {} values", parts.size(), leaves.size()),
                    "the file is damaged: export it again");
  }
  std::vector<ShardingRef> shardings;
  for (size_t i = 0; i < leaves.size(); ++i) {
    shardings.push_back(from_hlo(*parts[i], leaves[i].rank(), place));
  }
  if (!says_anything(shardings)) shardings.clear();
  parsed_.emplace(std::move(key), shardings);
  return shardings;
}

std::vector<ShardingRef> Shardings::of(const Instruction& instruction,
                                       const std::vector<TensorType>& leaves,
                                       const std::string& place) {
  const std::string* text = find_attribute(instruction.frontend_attributes(), "xla.sdy.sharding");
  if (text == nullptr) {
    if (!instruction.has_sharding()) return {};
    return of(instruction.sharding(), leaves, place);
  }
  std::vector<ShardingRef> shardings = parse(*text, leaves, place);
  if (shardings.size() != leaves.size()) {
    throw UserError(place,
                    fmt::format("xla.sdy.sharding holds {} shardings for {} values",
                                shardings.size(), leaves.size()),
                    "the file is damaged: export it again");
  }
  return shardings;
}

}  // namespace spmd::hlo_proto
