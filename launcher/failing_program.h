// Programs that fail in the compiler or the runtime, and the smallest that fail alike.
#pragma once

#include <optional>
#include <string>

#include "launcher/stages.h"
#include "passes/shrink/shrink.h"

namespace spmd {

struct ProgramFailure {
  StageFailure failure;  // of a crash or a hang, what it did; the stage is where it was
  // Equal for failures of one kind: stage, kind, and the message without numbers and quotations.
  std::string signature;
};

// check_stages() in a child process, which may crash or take longer than so many seconds. To be
// called from a process that has run no kernels (launcher/isolated.h).
std::optional<ProgramFailure> check_isolated(const Module& module, const StageOptions& options,
                                             double seconds);

// A smaller module that fails alike; `module` fails with `failure`.
Module reduce_program(Module module, const ProgramFailure& failure, const StageOptions& options,
                      double seconds, const ShrinkOptions& shrink_options = {});

}  // namespace spmd
