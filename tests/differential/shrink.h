// Smaller programs that fail in the same way.
#pragma once

#include <functional>

#include "ir/module.h"

namespace spmd::testing {

// Removes ops, results, shardings, axes and aliases as long as `fails` holds.
Module shrink(Module module, const std::function<bool(const Module&)>& fails);

}  // namespace spmd::testing
