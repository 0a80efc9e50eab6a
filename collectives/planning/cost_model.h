// CostModel: what communication and computation cost, in seconds, as far as decisions need it.
#pragma once

#include <cstdint>

#include "sharding/spec/axis.h"

namespace spmd {

enum class CollectiveKind : uint8_t {
  kAllGather,
  kAllReduce,
  kReduceScatter,
  kAllToAll,
  kPermute,
};

// Bytes that each rank sends: all-gather and reduce-scatter (n-1)/n of the full (gathered or
// unscattered) size, all-reduce 2(n-1)/n of the size, all-to-all (n-1)/n of the local size, permute
// the size. `bytes` is that size; `n` the number of ranks in a group.
int64_t bytes_sent(CollectiveKind kind, int64_t bytes, int64_t n);

// An alpha-beta model: time = latency + bytes sent / bandwidth (Hockney 1994).
struct CostModel {
  double latency = 1e-6;            // seconds per collective
  double bandwidth = 2e9;           // bytes per second and rank
  double flops_per_second = 100e9;  // of one device, for contractions and convolutions
  double memory_bandwidth = 20e9;   // bytes per second, for everything else

  double collective_seconds(CollectiveKind kind, int64_t bytes, int64_t n) const;
};

}  // namespace spmd
