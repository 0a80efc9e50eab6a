// Mesh axes as reports write them.
#pragma once

#include <string>

#include "sharding/spec/axis.h"

namespace spmd {

// "data,model"; "model:(1)2" for a sub-axis.
std::string axis_names(const AxisList& axes, const Mesh& mesh);

}  // namespace spmd
