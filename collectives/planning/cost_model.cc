#include "collectives/planning/cost_model.h"

namespace spmd {

int64_t bytes_sent(CollectiveKind kind, int64_t bytes, int64_t n) {
  switch (kind) {
    case CollectiveKind::kAllReduce:
      return 2 * bytes * (n - 1) / n;
    case CollectiveKind::kAllGather:
    case CollectiveKind::kReduceScatter:
    case CollectiveKind::kAllToAll:
      return bytes * (n - 1) / n;
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
