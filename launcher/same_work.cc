#include "launcher/same_work.h"

#include <fmt/format.h>

#include <algorithm>

namespace spmd {
namespace {

bool is_cut(const plan::Placement& placement) {
  return std::any_of(placement.axes().begin(), placement.axes().end(),
                     [](const plan::AxisList& dim) { return dim.axes_size() > 0; });
}

}  // namespace

std::optional<std::string> describe_same_work(const plan::Plan& plan) {
  int64_t devices = 1;
  std::string mesh;
  for (const plan::MeshAxis& axis : plan.mesh()) {
    devices *= axis.size();
    mesh += fmt::format("{}{}={}", mesh.empty() ? "" : ",", axis.name(), axis.size());
  }
  // Work that is cut inside is joined by messages.
  if (devices == 1 || plan.statistics().bytes_sent_per_step() > 0) return std::nullopt;
  for (const plan::Argument& argument : plan.arguments())
    if (is_cut(argument.placement())) return std::nullopt;
  for (const plan::Result& result : plan.results())
    if (is_cut(result.placement())) return std::nullopt;
  return fmt::format(
      "nothing is sharded on the mesh {}: its {} ranks all compute the same\n"
      "  give sharding rules in a file to --config (sharding: {{inputs: {{x: [{}]}}}}), or run on "
      "one rank",
      mesh, devices, plan.mesh(0).name());
}

}  // namespace spmd
