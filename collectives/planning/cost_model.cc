#include "collectives/planning/cost_model.h"

namespace spmd {

namespace {

// bytes * (n - 1) / n, whose product is too large for huge meshes.
int64_t all_but_one_share(int64_t bytes, int64_t n) { return bytes - (bytes + n - 1) / n; }

}  // namespace

int64_t bytes_sent(CollectiveKind kind, int64_t bytes, int64_t n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return all_but_one_share(2 * bytes, n);
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return all_but_one_share(bytes, n);
    case CollectiveKind::kPermute:
      return n > 1 ? bytes : 0;
  }
  return 0;
}

double CostModel::collective_seconds(CollectiveKind kind, int64_t bytes, int64_t n) const {
  if (n <= 1) return 0;
  return latency + static_cast<double>(bytes_sent(kind, bytes, n)) / bandwidth;
}

}  // namespace spmd
