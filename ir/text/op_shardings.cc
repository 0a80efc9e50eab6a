#include "ir/text/module_builder.h"
#include "sharding/spec/hlo_sharding.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

const Mesh* ModuleBuilder::mesh_named(std::string_view name) const {
  const auto found = meshes_.find(name);
  if (found != meshes_.end()) return &found->second;
  return other_meshes_ ? other_meshes_(name) : nullptr;
}

ShardingRef ModuleBuilder::to_module_mesh(const NamedSharding& sharding, int64_t rank,
                                          size_t position) {
  if (sharding.mesh.is_maximal()) module_.note(place(position), kMaximalNote);
  // A program whose only mesh stands inside its shardings.
  if (module_.mesh.num_axes() == 0 && sharding.mesh_name.empty() && !sharding.mesh.is_maximal())
    module_.mesh = sharding.mesh;
  if (sharding.mesh == module_.mesh) return std::make_shared<const Sharding>(sharding.sharding);
  try {
    return std::make_shared<const Sharding>(
        sharding_on_mesh(sharding.sharding, sharding.mesh, module_.mesh, rank));
  } catch (const UserError& error) {
    fail(position, error.what());
  }
}

// Shardings repeat, so each text is read once per rank.
ShardingRef ModuleBuilder::parse_hlo_sharding_string(std::string_view text, size_t position,
                                                     int64_t rank) {
  const auto key = std::make_pair(std::string(text), rank);
  const auto known = hlo_shardings_.find(key);
  if (known != hlo_shardings_.end()) return known->second;
  const std::string place = this->place(position);
  ShardingRef shared;
  try {
    const HloSharding hlo = parse_hlo_sharding(text, place);
    if (hlo.kind == HloSharding::Kind::kMaximal) module_.note(place, kMaximalNote);
    if (auto sharding = sharding_from_hlo(hlo, module_.mesh, rank)) {
      shared = std::make_shared<const Sharding>(std::move(*sharding));
    }
  } catch (const UserError& error) {
    const std::string_view what = error.what();
    if (what.starts_with(place)) throw;
    throw UserError(place, what);
  }
  hlo_shardings_.emplace(key, shared);
  return shared;
}

ShardingRef ModuleBuilder::sharding_of(const Dict& dict, int64_t rank) {
  if (dict.empty()) return nullptr;
  const AttributeReader from = reader(dict, "sharding", 0);
  if (const Attribute* sdy = from.find("sdy.sharding")) {
    if (sdy->kind != Kind::kShardings || sdy->shardings.size() != 1) {
      from.fail(*sdy, "sdy.sharding", "#sdy.sharding<...>");
    }
    return to_module_mesh(sdy->shardings[0], rank, sdy->position);
  }
  if (const Attribute* frontend = from.find("mhlo.frontend_attributes")) {
    const std::string text = from.dict(*frontend).string_or("xla.sdy.sharding", "");
    if (!text.empty()) {
      const std::string place = this->place(frontend->position);
      return to_module_mesh(parse_sdy_sharding(text, mesh_lookup(), place), rank,
                            frontend->position);
    }
  }
  if (const Attribute* mhlo = from.find("mhlo.sharding")) {
    if (mhlo->kind != Kind::kString) from.fail(*mhlo, "mhlo.sharding", "a string");
    return parse_hlo_sharding_string(mhlo->string, mhlo->position, rank);
  }
  return nullptr;
}

namespace {

bool leaves_all_open(const Sharding& sharding) {
  for (const DimSharding& dim : sharding.dims) {
    if (!dim.open || !dim.axes.empty() || dim.priority) return false;
  }
  return sharding.replicated.empty() && sharding.unreduced.empty() && sharding.manual.empty();
}

}  // namespace

// `sdy.sharding = #sdy.sharding_per_value<[...]>`, the same in a frontend attribute, or
// `mhlo.sharding = "..."`, a tuple of as many shardings as there are results.
void ModuleBuilder::set_result_shardings(const GenericOp& op, OpId id) {
  if (op.attributes.empty()) return;
  // The sharding of a constraint written as a custom call is the wish itself.
  if (op.code == OpCode::kShardingConstraint && op.spelling == name_of(OpCode::kCustomCall)) return;
  const ValueIds& results = fn_->op(id).results;
  const AttributeReader from = reader(op.attributes, op.spelling, op.position);
  const auto assign = [&](const std::vector<NamedSharding>& shardings, size_t position) {
    // JAX gives calls without results one that says where they run.
    if (results.empty()) return;
    if (shardings.size() != results.size()) {
      fail(position, fmt::format("{} shardings for {} results", shardings.size(), results.size()));
    }
    for (size_t i = 0; i < results.size(); ++i) {
      // In a list, a result without a sharding is written as open in all dimensions.
      if (results.size() > 1 && leaves_all_open(shardings[i].sharding)) continue;
      Value& value = fn_->value(results[i]);
      value.sharding = to_module_mesh(shardings[i], value.type.rank(), position);
    }
  };
  if (const Attribute* sdy = from.find("sdy.sharding")) {
    if (sdy->kind != Kind::kShardings) {
      from.fail(*sdy, "sdy.sharding", "#sdy.sharding_per_value<[...]>");
    }
    return assign(sdy->shardings, sdy->position);
  }
  if (const Attribute* frontend = from.find("mhlo.frontend_attributes")) {
    const std::string text = from.dict(*frontend).string_or("xla.sdy.sharding", "");
    if (!text.empty()) {
      const std::string place = this->place(frontend->position);
      return assign(parse_sdy_sharding_per_value(text, mesh_lookup(), place), frontend->position);
    }
  }
  const Attribute* mhlo = from.find("mhlo.sharding");
  if (mhlo == nullptr || results.empty()) return;
  if (mhlo->kind != Kind::kString) from.fail(*mhlo, "mhlo.sharding", "a string");
  if (results.size() == 1) {
    Value& value = fn_->value(results[0]);
    value.sharding = parse_hlo_sharding_string(mhlo->string, mhlo->position, value.type.rank());
    return;
  }
  const std::vector<HloSharding> elements =
      elements_of(parse_hlo_sharding(mhlo->string, place(mhlo->position)), results.size());
  if (elements.size() != results.size()) {
    fail(mhlo->position,
         fmt::format("{} shardings for {} results", elements.size(), results.size()));
  }
  for (size_t i = 0; i < results.size(); ++i) {
    Value& value = fn_->value(results[i]);
    try {
      if (auto sharding = sharding_from_hlo(elements[i], module_.mesh, value.type.rank())) {
        value.sharding = std::make_shared<const Sharding>(std::move(*sharding));
      }
    } catch (const UserError& error) {
      fail(mhlo->position, error.what());
    }
  }
}

// Of sharding_constraint and reshard.
Sharding ModuleBuilder::required_sharding(const GenericOp& op, int64_t rank) {
  const AttributeReader from = reader(op.attributes, op.spelling, op.position);
  if (const Attribute* sharding = from.find("sharding")) {
    if (sharding->kind != Kind::kShardings || sharding->shardings.size() != 1) {
      from.fail(*sharding, "sharding", "#sdy.sharding<...>");
    }
    return *to_module_mesh(sharding->shardings[0], rank, sharding->position);
  }
  ShardingRef found = constraint_sharding(op, rank);
  if (found == nullptr) return Sharding::replicate(rank, /*open=*/true);
  Sharding sharding = *found;
  // "unspecified_dims=[0,1]": propagation decides about these.
  const std::string config = from.string_or("backend_config", "");
  constexpr std::string_view kKey = "unspecified_dims=[";
  const size_t at = config.find(kKey);
  if (at == std::string::npos) return sharding;
  Scanner dims(std::string_view(config).substr(at + kKey.size()), place(op.position),
               Scanner::Kind::kEmbedded);
  while (!dims.peek("]")) {
    const int64_t dim = dims.expect_integer("a dimension");
    if (dim < 0 || dim >= sharding.rank()) dims.fail(0, "a dimension is out of range");
    sharding.dims[static_cast<size_t>(dim)].open = true;
    if (!dims.accept(",")) break;
  }
  return sharding;
}

// Of a custom call @Sharding.
ShardingRef ModuleBuilder::constraint_sharding(const GenericOp& op, int64_t rank) {
  const AttributeReader from = reader(op.attributes, op.spelling, op.position);
  if (const Attribute* frontend = from.find("mhlo.frontend_attributes")) {
    const std::string text = from.dict(*frontend).string_or("xla.sdy.sharding", "");
    if (!text.empty()) {
      const std::string place = this->place(frontend->position);
      const auto list = parse_sdy_sharding_per_value(text, mesh_lookup(), place);
      if (list.size() != 1) fail(frontend->position, "expected one sharding");
      return to_module_mesh(list[0], rank, frontend->position);
    }
  }
  return sharding_of(op.attributes, rank);
}

AxisList ModuleBuilder::to_module_axes(const AxisList& axes, const Mesh& mesh, size_t position) {
  NamedSharding named;
  named.mesh_name = "?";
  named.mesh = mesh;
  named.sharding.manual = axes;
  return to_module_mesh(named, 0, position)->manual;
}

// The mesh over which the manual axes of a computation are named: that of its first sharding that
// has axes.
Mesh ModuleBuilder::manual_mesh(const Dict& attributes) const {
  for (const NamedAttribute& entry : attributes) {
    for (const NamedSharding& sharding : entry.value.shardings) {
      if (sharding.mesh.num_axes() > 0) return sharding.mesh;
    }
  }
  return module_.mesh;
}

}  // namespace spmd::text
