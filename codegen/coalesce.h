// Coalescing: one storage for values that need not exist at the same time.
#pragma once

#include <vector>

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

// An argument's storage and that of the result which replaces it in the next step.
struct AliasedPair {
  int argument = -1, result = -1;
};

// Rewrites the views in `body` so that
// - a copy of one whole storage to another goes away where the two can be one: into loop carries,
//   into the results of branches and of the program;
// - a step whose result is only copied elsewhere, to a window or in another order of dimensions,
//   writes there at once;
// - an elementwise step, a dynamic_update_slice, a scatter or an all-reduce works in place where
// its operand is
//   not needed afterwards;
// - state that a program replaces is updated in the argument's own storage, where nothing reads the
//   old value after the new one is written.
// Returns, for each storage, the one that it has become.
std::vector<int> coalesce(plan::Sequence& body, const StorageTable& storages,
                          const std::vector<AliasedPair>& aliased);

// The first two of these alone.
std::vector<int> remove_copies(plan::Sequence& body, const StorageTable& storages);

// Lifetimes of the arena storages that occur in `body`. What is used inside a loop and outside of
// it lives as long as the loop.
std::vector<Lifetime> lifetimes(plan::Sequence& body, const StorageTable& storages);

}  // namespace spmd::codegen
