#include "launcher/choose_mesh.h"

#include "sharding/spec/hlo_sharding.h"
#include "support/error.h"

namespace spmd {
namespace {

std::string plural(int64_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "--mesh data=4,model=1": all ranks on the first axis.
std::string example_mesh(const Mesh& mesh, int64_t ranks) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes()) {
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", axis.name, text.empty() ? ranks : 1);
  }
  return "--mesh " + text;
}

// What a user can do about `ranks` ranks for a mesh of `needed` devices.
std::string ways_out(const Mesh& mesh, int64_t needed, int64_t ranks,
                     const LaunchEnvironment& launch) {
  std::string text;
  if (launch.alone() && ranks == 1) {
    text = fmt::format(
        "this is 1 rank because it was started without mpirun: start it with mpirun -n {}, or\n  "
        "pass --ranks {} for ranks as threads",
        needed, needed);
  } else if (launch.alone()) {
    text = fmt::format("pass --ranks {}", needed);
  } else {
    text = fmt::format("start {} with {} -n {}", plural(needed, "rank"), launch.launcher, needed);
  }
  return text + fmt::format(", or choose another mesh, such as {}", example_mesh(mesh, ranks));
}

[[noreturn]] void refuse(const std::string& place, const Mesh& mesh, int64_t ranks,
                         const LaunchEnvironment& launch) {
  const int64_t needed = mesh.num_devices();
  throw UserError(place,
                  fmt::format("the mesh {} needs {}, but there {} {}", mesh.to_string(),
                              plural(needed, "rank"), ranks == 1 ? "is" : "are", ranks),
                  ways_out(mesh, needed, ranks, launch));
}

// Of a program without a mesh.
std::string what_it_has(const Module& module) {
  for (const ReadingNote& note : module.notes()) {
    if (note.text != kMaximalNote) continue;
    return fmt::format(
        "the program's shardings are all maximal (the first is at {}): each puts a tensor on one "
        "device and none names the axes of a mesh",
        note.place);
  }
  return "the program has no mesh and no shardings";
}

// The mesh of a spec without a size to infer; nothing when one is to be inferred.
std::optional<Mesh> complete(const MeshSpec& spec) {
  std::vector<MeshAxis> axes;
  for (const MeshAxisSpec& axis : spec.axes) {
    if (axis.size == kInferSize) return std::nullopt;
    axes.push_back({axis.name, axis.size});
  }
  return Mesh(std::move(axes));
}

}  // namespace

Mesh choose_mesh(const Module& module, const std::optional<MeshSpec>& spec, int64_t ranks,
                 const LaunchEnvironment& launch) {
  if (spec) {
    const std::optional<Mesh> mesh = complete(*spec);
    if (!mesh) return resolve_mesh(*spec, ranks);
    if (mesh->num_devices() != ranks) refuse(spec->place, *mesh, ranks, launch);
    return *mesh;
  }
  if (module.mesh.axes().empty() && ranks > 1) {
    throw UserError(
        module.source,
        fmt::format("{}, but there are {} ranks, which would all compute the same",
                    what_it_has(module), ranks),
        "pass sharding rules with a mesh, which alone shards nothing: --mesh data=-1 --config "
        "rules.yaml, or run on one rank");
  }
  if (module.mesh.num_devices() != ranks) refuse(module.source, module.mesh, ranks, launch);
  return module.mesh;
}

Mesh choose_mesh_for_check(const Module& module, const std::optional<MeshSpec>& spec,
                           int64_t ranks) {
  if (!spec) {
    const int64_t devices = module.mesh.num_devices();
    if (ranks == 0 || ranks == devices) return module.mesh;
    throw UserError(
        "--ranks",
        fmt::format("{}, but the program's mesh {} has {}", plural(ranks, "rank"),
                    module.mesh.to_string(), devices),
        "leave out --ranks, or choose another mesh, such as " + example_mesh(module.mesh, ranks));
  }
  const std::optional<Mesh> mesh = complete(*spec);
  if (mesh && ranks == 0) return *mesh;
  if (ranks == 0) {
    throw UserError(spec->place, fmt::format("the mesh {} leaves a size open", spec->to_string()),
                    "pass the number of ranks: --ranks 64");
  }
  return resolve_mesh(*spec, ranks);
}

}  // namespace spmd
