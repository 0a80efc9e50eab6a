// Reshard planning: the cheapest sequence of collectives between two shardings of one tensor.
#pragma once

#include <vector>

#include "collectives/planning/cost_model.h"
#include "sharding/spec/sharding.h"

namespace spmd {

// One step of a reshard. Axes are atoms (sharding/spec/axis.h), major to minor, without those of
// size 1; sizes divide, since padding comes before.
struct ReshardStep {
  enum class Kind : uint8_t {
    kAllGather,      // `axes`, the minor-most of `dim`, are gathered
    kSlice,          // every rank keeps its part: `axes` become the minor-most of `dim`; local
    kAllToAll,       // `axes`, the minor-most of `dim`, become the minor-most of `to_dim`
    kPermute,        // blocks move between ranks, each sends at most one; shapes stay, `result`
                     // says where they end; `axes` are those whose place changes
    kAllReduce,      // the partial values along `axes` are combined
    kReduceScatter,  // the same, and `axes` become the minor-most of `dim`
    kMakePartial,    // a replicated value becomes partial along `axes`: rank 0 along them keeps it,
                     // the others hold the identity; local
  };
  Kind kind;
  AxisList axes;
  int64_t dim = 0;
  int64_t to_dim = 0;
  Sharding result;  // placement after the step, in atoms
};

struct ReshardPlan {
  std::vector<ReshardStep> steps;
  double seconds = 0;
  int64_t bytes_sent = 0;  // per rank
  int64_t peak_bytes = 0;  // largest local size that any step reads or writes
  // All axes of some dimension are gathered and a gathered dimension is sliced again.
  bool full_rematerialization = false;
};

// Plans `from` -> `to` for a tensor of `shape` (global, divisible by the shards of both shardings)
// with elements of `element_bytes`; both have the same manual axes. A least-cost search over
// sharding states; deterministic; does not depend on the number of devices other than through axis
// sizes. A full rematerialization is planned only when every path without one sends as many bytes;
// a path on which a rank holds the whole tensor, which neither end needs, only when there is no
// other.
ReshardPlan plan_reshard(const std::vector<int64_t>& shape, int64_t element_bytes,
                         const Sharding& from, const Sharding& to, const Mesh& mesh,
                         const CostModel& cost);

}  // namespace spmd
