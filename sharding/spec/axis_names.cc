#include "sharding/spec/axis_names.h"

#include <fmt/format.h>

namespace spmd {

std::string axis_names(const AxisList& axes, const Mesh& mesh) {
  std::string text;
  for (const AxisRef& axis : axes) {
    if (!text.empty()) text += ",";
    text += mesh.axes()[static_cast<size_t>(axis.axis)].name;
    if (!axis.is_full()) text += fmt::format(":({}){}", axis.pre, axis.size);
  }
  return text;
}

}  // namespace spmd
