// How many devices a mesh can have.
#pragma once

#include <cstdint>

namespace spmd {

// Numbers of ranks are of type int.
inline constexpr int64_t kMostDevices = (int64_t{1} << 31) - 1;

}  // namespace spmd
