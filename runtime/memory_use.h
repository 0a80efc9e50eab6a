// What a rank's memory is for, by kinds that people think in.
#pragma once

#include <string>

#include "runtime/plan/plan.h"

namespace spmd {

// Whether an argument of this name is what an optimizer keeps (moments, counters), by the words of
// the name.
bool is_optimizer_state(const std::string& name);

// Bytes of a rank.
struct MemoryUse {
  // Arguments that a result takes over, by is_optimizer_state(), and the others.
  int64_t parameters = 0, optimizer_state = 0, inputs = 0;
  int64_t results = 0, constants = 0;  // with memory of their own
  // The arena when the most of it is used: values that collectives send and receive, those that a
  // step reads which writes parameters or optimizer state, those that the step of the peak itself
  // accesses, and those that are kept for later. What no value uses then is gaps.
  int64_t messages = 0, gradients = 0, temporaries = 0, activations = 0, gaps = 0;
  int64_t workspaces = -1;  // of kernels; -1: not known yet
  // The op at the arena's peak; empty without an arena.
  std::string peak_op;

  int64_t total() const;
};

// Where ranks run programs of their own, the arena is that of the first one.
MemoryUse memory_use(const plan::Plan& plan);

// A line for each kind that there is, the sum and the op at the peak.
std::string to_string(const MemoryUse& use);

}  // namespace spmd
