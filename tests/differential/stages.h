// Runs a module through the pipeline and compares it with itself after every pass.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "ir/module.h"

namespace spmd::testing {

struct StageFailure {
  std::string stage;  // the first pass after which something is wrong
  std::string what;   // a difference, or the error that was thrown
};

// Evaluates the module on exact_inputs(seed), then again after every pass that changed it: with
// global meaning up to pad_uneven (padding filled with values that must not matter), on all pretend
// ranks from localize on. Results must be equal. `inspect` sees the module after each pass.
using Inspect = std::function<void(const std::string& pass, const Module&)>;
std::optional<StageFailure> check_stages(const Module& module, uint64_t seed,
                                         const Inspect& inspect = {});

}  // namespace spmd::testing
