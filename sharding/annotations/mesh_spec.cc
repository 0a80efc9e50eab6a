#include "sharding/annotations/mesh_spec.h"

#include <algorithm>
#include <charconv>

#include "sharding/annotations/yaml_map.h"
#include "sharding/spec/mesh_limit.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {

namespace {

constexpr std::string_view kExample = "write axes major to minor, for example: data=-1,model=4";

void check_spec(const MeshSpec& spec) {
  int inferred = 0;
  int64_t product = 1;
  for (size_t i = 0; i < spec.axes.size(); ++i) {
    const MeshAxisSpec& axis = spec.axes[i];
    for (size_t j = 0; j < i; ++j) {
      if (spec.axes[j].name == axis.name) {
        throw UserError(spec.place,
                        fmt::format("axis \"{}\" occurs twice in {}", axis.name, spec.to_string()),
                        "give each axis one size");
      }
    }
    if (axis.size == kInferSize) {
      if (++inferred > 1) {
        throw UserError(spec.place,
                        fmt::format("more than one axis has size -1 in {}", spec.to_string()),
                        "only one size can be inferred from the number of ranks");
      }
    } else if (axis.size < 1) {
      throw UserError(
          spec.place,
          fmt::format("axis \"{}\" has size {}, expected at least 1", axis.name, axis.size),
          fmt::format("give it a size, or -1 to infer it from the number of ranks: {}=-1",
                      axis.name));
    } else if (product > kMostDevices / axis.size) {
      throw UserError(
          spec.place,
          fmt::format("the mesh {} has more than {} devices", spec.to_string(), kMostDevices),
          "choose smaller sizes");
    } else {
      product *= axis.size;
    }
  }
}

std::vector<std::string> names_of(const std::vector<MeshAxisSpec>& axes) {
  std::vector<std::string> names;
  for (const MeshAxisSpec& axis : axes) names.push_back(axis.name);
  return names;
}

void reorder(const std::vector<YAML::Node>& order, const std::string& source, MeshSpec& spec) {
  std::vector<MeshAxisSpec> axes;
  for (const YAML::Node& node : order) {
    const std::string name = yaml_string(node, source, "an axis of mesh.order");
    const auto it = std::find_if(spec.axes.begin(), spec.axes.end(),
                                 [&](const MeshAxisSpec& axis) { return axis.name == name; });
    if (it == spec.axes.end()) {
      const auto near = nearest(name, names_of(spec.axes));
      throw UserError(place_of(node, source),
                      fmt::format("mesh.order names \"{}\", which is not in mesh.axes", name),
                      near ? fmt::format("did you mean \"{}\"?", *near)
                           : fmt::format("mesh.axes has: {}", spec.to_string()));
    }
    axes.push_back(*it);
  }
  if (axes.size() != spec.axes.size()) {
    throw UserError(
        place_of(order.front(), source),
        fmt::format("mesh.order has {} axes, mesh.axes {}", axes.size(), spec.axes.size()),
        "name every axis once, major to minor");
  }
  spec.axes = std::move(axes);
}

}  // namespace

std::string MeshSpec::to_string() const {
  std::string text;
  for (const MeshAxisSpec& axis : axes) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, axis.size);
  }
  return text;
}

MeshSpec parse_mesh_spec(std::string_view text, const std::string& place) {
  MeshSpec spec;
  spec.place = place;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const size_t equals = std::min(part.find('='), part.size());
    MeshAxisSpec axis;
    axis.name = std::string(part.substr(0, equals));
    const char* last = part.data() + part.size();
    const char* first = std::min(part.data() + equals + 1, last);
    const auto [rest, error] = std::from_chars(first, last, axis.size);
    if (axis.name.empty() || error != std::errc() || rest != last) {
      throw UserError(place,
                      fmt::format("found \"{}\"{}, expected NAME=SIZE", part,
                                  part.size() < text.size() ? fmt::format(" in \"{}\"", text) : ""),
                      kExample);
    }
    spec.axes.push_back(std::move(axis));
    begin = end + 1;
  }
  check_spec(spec);
  return spec;
}

MeshSpec read_mesh_spec(const YAML::Node& node, const std::string& source) {
  MeshSpec spec;
  if (node.IsScalar()) {
    spec = parse_mesh_spec(node.Scalar(), place_of(node, source));
  } else {
    const YamlMap map(node, source, "mesh", {"axes", "order"});
    if (const YAML::Node* axes = map.find("axes")) {
      for (const auto& [name, size] : yaml_entries(*axes, source, "mesh.axes")) {
        spec.axes.push_back({name, yaml_integer(size, source, "mesh.axes." + name)});
      }
    }
    const std::vector<YAML::Node> order = map.sequence("order");
    if (!order.empty()) reorder(order, source, spec);
  }
  spec.place = place_of(node, source);
  check_spec(spec);
  return spec;
}

Mesh resolve_mesh(const MeshSpec& spec, int64_t num_devices) {
  int64_t known = 1;
  bool infers = false;
  for (const MeshAxisSpec& axis : spec.axes) {
    if (axis.size == kInferSize) {
      infers = true;
    } else {
      known *= axis.size;
    }
  }
  const bool fits = infers ? num_devices % known == 0 : num_devices == known;
  if (!fits || num_devices < 1) {
    throw UserError(
        spec.place,
        fmt::format("the mesh {} {} {} rank{}, but there {} {}", spec.to_string(),
                    infers ? "needs a multiple of" : "has", known, known == 1 ? "" : "s",
                    num_devices == 1 ? "is" : "are", num_devices),
        infers ? fmt::format("start {} or {} ranks, or change the mesh", known, 2 * known)
               : fmt::format("start {} rank{}, or change the mesh", known, known == 1 ? "" : "s"));
  }
  std::vector<MeshAxis> axes;
  for (const MeshAxisSpec& axis : spec.axes) {
    axes.push_back({axis.name, axis.size == kInferSize ? num_devices / known : axis.size});
  }
  return Mesh(std::move(axes));
}

}  // namespace spmd
