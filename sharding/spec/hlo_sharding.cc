#include "sharding/spec/hlo_sharding.h"

#include "support/error.h"
#include "support/scanner.h"

namespace spmd {
namespace {

class HloShardingParser {
 public:
  HloShardingParser(std::string_view text, const std::string& place)
      : scan_(text, place, Scanner::Kind::kEmbedded) {}

  HloSharding parse() {
    if (scan_.at_end()) return {};
    HloSharding result = sharding();
    if (!scan_.at_end()) scan_.fail_expected("the end of the sharding");
    return result;
  }

  HloMeshAxes parse_mesh_axes() {
    HloMeshAxes result;
    result.mesh = mesh();
    result.axes = axes(result.mesh);
    if (!scan_.at_end()) scan_.fail_expected("the end of the axes");
    return result;
  }

 private:
  using Kind = HloSharding::Kind;

  HloSharding sharding() {
    const DepthGuard guard(depth_, scan_);
    scan_.expect("{");
    HloSharding result;
    if (scan_.peek("{") || scan_.peek("}")) {
      result.kind = Kind::kTuple;
      while (!scan_.peek("}")) {
        result.elements.push_back(sharding());
        if (!scan_.accept(",")) break;
      }
    } else {
      body(result);
      suffixes();
    }
    scan_.expect("}");
    return result;
  }

  void body(HloSharding& result) {
    if (scan_.accept_word("replicated")) {
      result.kind = Kind::kReplicated;
    } else if (scan_.accept_word("manual")) {
      result.kind = Kind::kManual;
    } else if (scan_.accept_word("unreduced")) {
      result.kind = Kind::kUnreduced;
    } else if (scan_.accept_word("unknown")) {
      result.kind = Kind::kUnknown;
    } else if (scan_.accept_word("maximal")) {
      result.kind = Kind::kMaximal;
      scan_.expect_word("device");
      scan_.expect("=");
      result.device = scan_.expect_integer();
    } else if (scan_.accept_word("maximal_mesh")) {
      result.kind = Kind::kMaximal;
      scan_.expect("[");
      scan_.expect_word("device_id");
      scan_.expect("=");
      result.device = scan_.expect_integer();
      scan_.expect("]");
    } else if (scan_.accept_word("devices")) {
      result.kind = Kind::kTiled;
      result.tiles = tiles();
    } else if (scan_.peek_word("mesh")) {
      named(result);
    } else {
      scan_.fail_expected("replicated, manual, unreduced, unknown, maximal, devices= or mesh[");
    }
  }

  // Shard groups and metadata, which the compiler does not use.
  void suffixes() {
    if (scan_.accept_word("shard_as") || scan_.accept_word("shard_like")) scan_.expect_integer();
    if (!scan_.accept_word("metadata")) return;
    scan_.expect("=");
    scan_.expect("{");
    for (int open = 1; open > 0;) {
      if (scan_.at_end()) scan_.fail_expected("'}'");
      if (scan_.peek_string()) {
        scan_.expect_raw_string();
        continue;
      }
      const char c = scan_.peek();
      open += c == '{' ? 1 : c == '}' ? -1 : 0;
      scan_.seek(scan_.position() + 1);
    }
  }

  std::vector<int64_t> integers() {
    std::vector<int64_t> values = {scan_.expect_integer()};
    while (scan_.accept(",")) values.push_back(scan_.expect_integer());
    return values;
  }

  std::vector<int64_t> bracketed(std::string_view open, std::string_view close) {
    scan_.expect(open);
    std::vector<int64_t> values = integers();
    scan_.expect(close);
    return values;
  }

  TileAssignment tiles() {
    TileAssignment result;
    scan_.expect("=");
    result.dims = bracketed("[", "]");
    if (scan_.accept("<=")) {
      result.iota_reshape = bracketed("[", "]");
      if (scan_.accept_word("T")) result.iota_transpose = bracketed("(", ")");
    } else {
      result.devices = integers();
    }
    if (scan_.accept_word("last_tile_dim_replicate")) {
      result.trailing = {SubgroupType::kReplicated};
    } else if (scan_.accept_word("last_tile_dims")) {
      scan_.expect("=");
      scan_.expect("{");
      do result.trailing.push_back(subgroup());
      while (scan_.accept(","));
      scan_.expect("}");
    }
    return result;
  }

  SubgroupType subgroup() {
    if (scan_.accept_word("replicated")) return SubgroupType::kReplicated;
    if (scan_.accept_word("manual")) return SubgroupType::kManual;
    if (scan_.accept_word("unreduced")) return SubgroupType::kUnreduced;
    scan_.fail_expected("replicated, manual or unreduced");
  }

  // ---- named form

  std::string quoted() {
    scan_.expect("'");
    const size_t start = scan_.position();
    const size_t end = scan_.text().find('\'', start);
    if (end == std::string_view::npos) scan_.fail(start, "this name has no end");
    scan_.seek(end + 1);
    return std::string(scan_.text().substr(start, end - start));
  }

  Mesh mesh() {
    scan_.expect_word("mesh");
    scan_.expect("[");
    std::vector<MeshAxis> axes;
    while (scan_.peek() == '\'') {
      MeshAxis axis;
      axis.name = quoted();
      scan_.expect("=");
      axis.size = scan_.expect_integer();
      axes.push_back(std::move(axis));
      if (!scan_.accept(",")) break;
    }
    scan_.expect("]");
    std::vector<int64_t> devices;
    const size_t before = scan_.position();
    if (scan_.accept(",") && scan_.accept_word("device_ids")) {
      devices = device_ids();
    } else {
      scan_.seek(before);
    }
    return Mesh(std::move(axes), std::move(devices));
  }

  // "=(0,1,3,2)" or "=([4,16]T(1,0))"
  std::vector<int64_t> device_ids() {
    scan_.expect("=");
    scan_.expect("(");
    std::vector<int64_t> devices;
    if (scan_.peek("[")) {
      TileAssignment iota;
      iota.iota_reshape = bracketed("[", "]");
      if (scan_.accept_word("T")) iota.iota_transpose = bracketed("(", ")");
      iota.dims = iota.iota_reshape;
      check_tiles(iota);
      devices = devices_of(iota);
    } else {
      devices = integers();
    }
    scan_.expect(")");
    return devices;
  }

  void named(HloSharding& result) {
    result.kind = Kind::kNamed;
    result.mesh = mesh();
    scan_.expect(",");
    if (scan_.accept("[")) {
      while (!scan_.peek("]")) {
        result.named.dims.push_back(dimension(result.mesh));
        if (!scan_.accept(",")) break;
      }
      scan_.expect("]");
      while (scan_.accept(",")) extra(result);
    } else if (scan_.accept_word("replicated")) {
      result.kind = Kind::kReplicated;
    } else if (scan_.accept_word("manual")) {
      result.kind = Kind::kManual;
    } else if (scan_.accept_word("unreduced")) {
      result.kind = Kind::kUnreduced;
      if (scan_.accept("=")) result.named.reduction = reduction();
    } else {
      scan_.fail_expected("'[', replicated, manual or unreduced");
    }
  }

  void extra(HloSharding& result) {
    if (scan_.accept_word("replicated")) {
      scan_.expect("=");
      result.named.replicated = axes(result.mesh);
    } else if (scan_.accept_word("manual")) {
      scan_.expect("=");
      result.named.manual = axes(result.mesh);
    } else if (scan_.accept_word("unreduced")) {
      scan_.expect("=");
      if (!scan_.peek("{")) result.named.reduction = reduction();
      result.named.unreduced = axes(result.mesh);
    } else {
      scan_.fail_expected("replicated=, unreduced= or manual=");
    }
  }

  ReductionKind reduction() {
    if (scan_.accept_word("sum")) return ReductionKind::kSum;
    if (scan_.accept_word("max")) return ReductionKind::kMax;
    if (scan_.accept_word("min")) return ReductionKind::kMin;
    scan_.fail_expected("sum, max or min");
  }

  DimSharding dimension(const Mesh& mesh) {
    DimSharding dim;
    scan_.expect("{");
    while (!scan_.peek("}")) {
      if (scan_.accept("?")) {
        dim.open = true;
        break;
      }
      dim.axes.push_back(axis(mesh));
      if (!scan_.accept(",")) break;
    }
    scan_.expect("}");
    return dim;
  }

  AxisList axes(const Mesh& mesh) {
    AxisList list;
    scan_.expect("{");
    while (!scan_.peek("}")) {
      list.push_back(axis(mesh));
      if (!scan_.accept(",")) break;
    }
    scan_.expect("}");
    return list;
  }

  AxisRef axis(const Mesh& mesh) {
    const size_t start = scan_.position();
    const std::string name = quoted();
    const auto found = mesh.find_axis(name);
    if (!found) scan_.fail(start, fmt::format("the mesh has no axis '{}'", name));
    AxisRef ref{*found, 1, 0};
    if (scan_.accept(":")) {
      scan_.expect("(");
      ref.pre = scan_.expect_integer();
      scan_.expect(")");
      ref.size = scan_.expect_integer();
      check_sub_axis(ref, mesh, start);
    }
    return ref;
  }

  void check_sub_axis(const AxisRef& ref, const Mesh& mesh, size_t start) {
    const int64_t full = mesh.axis_size(ref.axis);
    if (is_factor(ref.pre, ref.size, full)) return;
    scan_.fail(start,
               fmt::format("({}){} is no factor of an axis of size {}", ref.pre, ref.size, full));
  }

  Scanner scan_;
  int depth_ = 0;
};

AxisList all_axes(const Mesh& mesh) {
  AxisList axes;
  for (int i = 0; i < mesh.num_axes(); ++i) axes.push_back({i, 1, 0});
  return axes;
}

}  // namespace

HloSharding parse_hlo_sharding(std::string_view text, const std::string& place) {
  return HloShardingParser(text, place).parse();
}

HloMeshAxes parse_hlo_mesh_axes(std::string_view text, const std::string& place) {
  return HloShardingParser(text, place).parse_mesh_axes();
}

std::optional<Sharding> sharding_from_hlo(const HloSharding& hlo, const Mesh& mesh, int64_t rank) {
  using Kind = HloSharding::Kind;
  switch (hlo.kind) {
    case Kind::kUnknown:
      return std::nullopt;
    case Kind::kReplicated:
    case Kind::kMaximal:
      return Sharding::replicate(rank);
    case Kind::kManual: {
      Sharding sharding = Sharding::replicate(rank);
      sharding.manual = all_axes(mesh);
      return sharding;
    }
    case Kind::kUnreduced: {
      Sharding sharding = Sharding::replicate(rank);
      sharding.unreduced = all_axes(mesh);
      sharding.reduction = hlo.named.reduction;
      return sharding;
    }
    case Kind::kTiled:
      return sharding_from_tiles(hlo.tiles, mesh, rank);
    case Kind::kNamed: {
      Sharding sharding = sharding_on_mesh(hlo.named, hlo.mesh, mesh, rank);
      check_sharding(sharding, rank, mesh, "");
      return sharding;
    }
    case Kind::kTuple:
      break;
  }
  throw UserError("", "a tuple of shardings for a single tensor");
}

std::vector<HloSharding> elements_of(const HloSharding& hlo, size_t count) {
  if (hlo.kind == HloSharding::Kind::kTuple) return hlo.elements;
  return std::vector<HloSharding>(count, hlo);
}

namespace {

void collect(const HloSharding& hlo, std::vector<TileAssignment>& tiles,
             std::vector<const HloSharding*>& named) {
  if (hlo.kind == HloSharding::Kind::kTiled) tiles.push_back(hlo.tiles);
  if (hlo.mesh.num_axes() > 0) named.push_back(&hlo);
  for (const HloSharding& element : hlo.elements) collect(element, tiles, named);
}

}  // namespace

Mesh mesh_from_hlo(const std::vector<HloSharding>& shardings, int64_t num_devices) {
  std::vector<TileAssignment> tiles;
  std::vector<const HloSharding*> named;
  for (const HloSharding& sharding : shardings) collect(sharding, tiles, named);
  if (named.empty()) return mesh_from_tiles(tiles, num_devices);
  const Mesh& mesh = named.front()->mesh;
  for (const HloSharding* other : named) {
    if (!(mesh == other->mesh)) {
      throw UserError("",
                      fmt::format("shardings over two meshes, {} and {}", mesh.to_string(),
                                  other->mesh.to_string()),
                      "export with one mesh");
    }
  }
  return mesh;
}

}  // namespace spmd
