#include "sharding/spec/sharding_text.h"

#include "sharding/spec/tile_assignment.h"
#include "support/error.h"

namespace spmd {
namespace {

std::string scan_axis_name(Scanner& scan) {
  scan.skip_blanks();
  const size_t start = scan.position();
  std::string name = scan.expect_string("an axis name in quotes");
  for (const char c : name) {
    if (c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20) {
      scan.fail(start, "this axis name has a character that names may not have");
    }
  }
  return name;
}

AxisRef scan_axis(Scanner& scan, const Mesh& mesh) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const std::string name = scan_axis_name(scan);
  const auto found = mesh.find_axis(name);
  if (!found) {
    scan.fail(start, fmt::format("the mesh has no axis \"{}\"", name),
              mesh.num_axes() == 0 ? "it has no axes" : "it is " + mesh.to_string());
  }
  AxisRef ref{*found, 1, 0};
  if (!scan.accept(":")) return ref;
  scan.expect("(");
  ref.pre = scan.expect_integer();
  scan.expect(")");
  ref.size = scan.expect_integer();
  const int64_t full = mesh.axis_size(ref.axis);
  if (ref.size < 2 || !is_factor(ref.pre, ref.size, full)) {
    scan.fail(start, fmt::format("({}){} is no factor of the axis \"{}\" of size {}", ref.pre,
                                 ref.size, name, full));
  }
  if (ref.size == full) ref = {*found, 1, 0};
  return ref;
}

DimSharding scan_dimension(Scanner& scan, const Mesh& mesh) {
  DimSharding dim;
  scan.expect("{");
  while (!scan.peek("}")) {
    if (scan.accept("?")) {
      dim.open = true;
      break;
    }
    dim.axes.push_back(scan_axis(scan, mesh));
    if (!scan.accept(",")) break;
  }
  scan.expect("}");
  if (scan.peek() == 'p') {
    scan.accept("p");
    const int64_t priority = scan.expect_integer("a priority");
    if (priority < 0 || priority > INT32_MAX) scan.fail_expected("a priority of 0 or more");
    dim.priority = static_cast<int>(priority);
  }
  return dim;
}

ReductionKind scan_reduction(Scanner& scan) {
  static constexpr std::pair<const char*, ReductionKind> kKinds[] = {
      {"sum", ReductionKind::kSum},     {"max", ReductionKind::kMax}, {"min", ReductionKind::kMin},
      {"mul", ReductionKind::kProduct}, {"and", ReductionKind::kAnd}, {"or", ReductionKind::kOr}};
  for (const auto& [word, kind] : kKinds) {
    if (scan.accept_word(word)) return kind;
  }
  scan.fail_expected("'{', sum, max, min, mul, and, or");
}

void scan_extra(Scanner& scan, const Mesh& mesh, Sharding& sharding) {
  if (scan.accept_word("replicated")) {
    scan.expect("=");
    sharding.replicated = scan_axes(scan, mesh);
  } else if (scan.accept_word("unreduced")) {
    scan.expect("=");
    if (!scan.peek("{")) sharding.reduction = scan_reduction(scan);
    sharding.unreduced = scan_axes(scan, mesh);
  } else if (scan.accept_word("manual")) {
    scan.expect("=");
    sharding.manual = scan_axes(scan, mesh);
  } else {
    scan.fail_expected("replicated=, unreduced= or manual=");
  }
}

// A construct in a string of its own.
class Embedded {
 public:
  Embedded(std::string_view text, const std::string& place)
      : text_(text.find('\\') == std::string_view::npos ? std::string(text) : unescape(text)),
        scan_(text_, place, Scanner::Kind::kEmbedded) {}
  Embedded(const Embedded&) = delete;
  Embedded& operator=(const Embedded&) = delete;

  Scanner& scan() { return scan_; }
  void expect_end() {
    if (!scan_.at_end()) scan_.fail_expected("the end of the attribute");
  }

 private:
  std::string text_;
  Scanner scan_;
};

}  // namespace

Mesh scan_mesh(Scanner& scan) {
  scan.skip_blanks();
  const size_t start = scan.position();
  scan.expect("<");
  scan.expect("[");
  std::vector<MeshAxis> axes;
  while (!scan.peek("]")) {
    MeshAxis axis;
    axis.name = scan_axis_name(scan);
    scan.expect("=");
    axis.size = scan.expect_integer("a size");
    axes.push_back(std::move(axis));
    if (!scan.accept(",")) break;
  }
  scan.expect("]");
  std::vector<int64_t> devices;
  if (scan.accept(",")) {
    scan.expect_word("device_ids");
    scan.expect("=");
    scan.expect("[");
    while (!scan.peek("]")) {
      devices.push_back(scan.expect_integer("a device number"));
      if (!scan.accept(",")) break;
    }
    scan.expect("]");
  }
  scan.expect(">");
  try {
    return Mesh(std::move(axes), std::move(devices));
  } catch (const UserError& error) {
    scan.fail(start, error.what());
  }
}

AxisList scan_axes(Scanner& scan, const Mesh& mesh) {
  AxisList axes;
  scan.expect("{");
  while (!scan.peek("}")) {
    axes.push_back(scan_axis(scan, mesh));
    if (!scan.accept(",")) break;
  }
  scan.expect("}");
  return axes;
}

NamedSharding scan_sharding(Scanner& scan, const MeshLookup& meshes) {
  NamedSharding result;
  scan.skip_blanks();
  const size_t begin = scan.position();
  scan.expect("<");
  scan.skip_blanks();
  const size_t start = scan.position();
  if (scan.accept("@")) {
    result.mesh_name =
        scan.peek_string() ? scan.expect_string() : std::string(scan.expect_suffix("a mesh name"));
    const Mesh* mesh = meshes(result.mesh_name);
    if (mesh == nullptr) {
      scan.fail(start, fmt::format("there is no mesh @{}", result.mesh_name),
                fmt::format("declare it: sdy.mesh @{} = <[\"x\"=2]>", result.mesh_name));
    }
    result.mesh = *mesh;
  } else if (scan.accept_word("mesh")) {
    result.mesh = scan_mesh(scan);
  } else {
    scan.fail_expected("'@' or mesh<");
  }
  scan.expect(",");
  scan.expect("[");
  while (!scan.peek("]")) {
    result.sharding.dims.push_back(scan_dimension(scan, result.mesh));
    if (!scan.accept(",")) break;
  }
  scan.expect("]");
  while (scan.accept(",")) scan_extra(scan, result.mesh, result.sharding);
  scan.expect(">");
  check_sharding(result.sharding, result.sharding.rank(), result.mesh, scan.place(begin));
  return result;
}

std::vector<NamedSharding> scan_shardings(Scanner& scan, const MeshLookup& meshes) {
  std::vector<NamedSharding> shardings;
  scan.expect("[");
  while (!scan.peek("]")) {
    shardings.push_back(scan_sharding(scan, meshes));
    if (!scan.accept(",")) break;
  }
  scan.expect("]");
  return shardings;
}

NamedSharding parse_sdy_sharding(std::string_view text, const MeshLookup& meshes,
                                 const std::string& place) {
  Embedded embedded(text, place);
  embedded.scan().expect("#sdy.sharding");
  NamedSharding sharding = scan_sharding(embedded.scan(), meshes);
  embedded.expect_end();
  return sharding;
}

std::vector<NamedSharding> parse_sdy_sharding_per_value(std::string_view text,
                                                        const MeshLookup& meshes,
                                                        const std::string& place) {
  Embedded embedded(text, place);
  embedded.scan().expect("#sdy.sharding_per_value");
  embedded.scan().expect("<");
  std::vector<NamedSharding> shardings = scan_shardings(embedded.scan(), meshes);
  embedded.scan().expect(">");
  embedded.expect_end();
  return shardings;
}

std::vector<std::pair<std::string, Mesh>> parse_sdy_meshes(std::string_view text,
                                                           const std::string& place) {
  Embedded embedded(text, place);
  Scanner& scan = embedded.scan();
  std::vector<std::pair<std::string, Mesh>> meshes;
  scan.expect("{");
  while (!scan.peek("}")) {
    std::string name =
        scan.peek_string() ? scan.expect_string() : std::string(scan.expect_word_of("a mesh name"));
    scan.expect("=");
    scan.expect("#sdy.mesh");
    meshes.emplace_back(std::move(name), scan_mesh(scan));
    if (!scan.accept(",")) break;
  }
  scan.expect("}");
  embedded.expect_end();
  return meshes;
}

AxisList parse_sdy_manual_axes(std::string_view text, const Mesh& mesh, const std::string& place) {
  Embedded embedded(text, place);
  Scanner& scan = embedded.scan();
  scan.expect("#sdy");
  if (!scan.accept(".manual_axes")) {
    scan.expect("<");
    scan.expect_word("manual_axes");
    AxisList axes = scan_axes(scan, mesh);
    scan.expect(">");
    embedded.expect_end();
    return axes;
  }
  scan.expect("<");
  AxisList axes = scan_axes(scan, mesh);
  scan.expect(">");
  embedded.expect_end();
  return axes;
}

std::string mesh_text(const Mesh& mesh) {
  std::string text = "<[";
  for (const MeshAxis& axis : mesh.axes()) {
    if (text.size() > 2) text += ", ";
    text += fmt::format("\"{}\"={}", axis.name, axis.size);
  }
  text += "]";
  if (!mesh.device_ids().empty()) {
    text += ", device_ids=[";
    for (size_t i = 0; i < mesh.device_ids().size(); ++i) {
      text += fmt::format("{}{}", i == 0 ? "" : ", ", mesh.device_ids()[i]);
    }
    text += "]";
  }
  return text + ">";
}

std::string sharding_text(const Sharding& sharding, const Mesh& mesh, std::string_view mesh_name) {
  return fmt::format("<@{}, {}>", mesh_name, sharding.to_string(mesh));
}

std::string axes_text(const AxisList& axes, const Mesh& mesh) {
  std::string text = "{";
  for (const AxisRef& axis : axes) {
    if (text.size() > 1) text += ", ";
    text += to_string(axis, mesh);
  }
  return text + "}";
}

}  // namespace spmd
