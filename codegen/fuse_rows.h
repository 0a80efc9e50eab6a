// Fuses reductions with what surrounds them over the same rows: their elementwise producers and
// consumers, and other reductions of the same elements. Softmax, normalisations and losses become
// one kernel each; what only passes between their parts never reaches memory.
//
// A rewrite of emitted steps, before storages are coalesced. What may be fused is what
// kernels::lower() can compile as one kernel; see docs/kernels.md for how to add to that.
#pragma once

#include <string>
#include <vector>

#include "codegen/buffers.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen {

struct FuseRowsOptions {
  // Threads that have to be kept busy: a fused kernel that has fewer independent rows than that is
  // not worth what it saves. 1: a CPU's core.
  int64_t parallelism = 1;
  // Elementwise kernels that read the same are one, wherever they stand; the emitter has joined
  // neighbours.
  bool joins_elementwise = false;
  // Values are computed again instead of being kept in memory (recompute.h) where a step spares so
  // many bytes of traffic; 0: never.
  int64_t least_recompute_gain = 0;
};

// One Fused step, a product with its epilogue (dot_epilogues.h), or a group of alike steps
// (group_steps.h).
struct FusionNote {
  std::string place;  // of its last step; of a group's first
  bool is_epilogue = false;
  int elementwise = 0, reductions = 0;
  int members = 0;  // of a group
  // Memory traffic of one execution that the parts on their own would have had besides.
  int64_t bytes_saved = 0;
};

// "place: 3 elementwise kernels and 2 reductions in one, saves 12 MiB", "place: 9 alike kernels in
// one launch"
std::string to_string(const FusionNote& note);

// Fuses the steps of `body` and of the sequences inside. Storages that only one Fused step accesses
// become LOCAL.
std::vector<FusionNote> fuse_rows(plan::Sequence& body, StorageTable& storages,
                                  const FuseRowsOptions& options);

}  // namespace spmd::codegen
