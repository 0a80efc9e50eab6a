// Smaller programs that fail in the same way.
#pragma once

#include <functional>

#include "ir/module.h"

namespace spmd {

struct ShrinkOptions {
  // Called with each smaller module that still fails.
  std::function<void(const Module&)> progress;
  // Asked before each attempt; true ends the search.
  std::function<bool()> stop;
};

// Removes results, ops, shardings, mesh axes, aliases and names, makes dimensions shorter and
// element types plainer, as long as `fails` holds; until no such step is left. Large steps come
// first (halves, quarters, ... of the ops), so that a program of N ops takes about log N attempts
// while most of it has nothing to do with the failure. `module` verifies and fails; so does what is
// returned.
Module shrink(Module module, const std::function<bool(const Module&)>& fails,
              const ShrinkOptions& options = {});

}  // namespace spmd
