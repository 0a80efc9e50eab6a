// The kernels of the library, made for the host.
#pragma once

#include <functional>
#include <string>

namespace spmd::fake {

// A launch whose arguments have been copied: runs all threads of all blocks.
using Launch = std::function<void(unsigned blocks, unsigned threads)>;
// Reads the arguments as cuLaunchKernel gets them.
using Kernel = std::function<Launch(void** arguments)>;

// Null when the library has no such kernel.
const Kernel* find_kernel(const std::string& name);

}  // namespace spmd::fake
