#include "passes/partition/local_window.h"

#include <algorithm>
#include <numeric>

#include "passes/partition/arithmetic.h"

namespace spmd {
LocalWindow local_window(const WindowDim& w, int64_t results, int64_t block, int64_t ranks) {
  LocalWindow local;
  // Results this far apart see the holes alike.
  const int64_t phase = w.base_dilation / std::gcd(w.stride, w.base_dilation);
  local.results = block % phase == 0 ? block : block + phase - 1;
  const int64_t reach = (w.size - 1) * w.window_dilation;
  // The first and the last row that result j and those before it look at.
  const auto first_row = [&](int64_t j) { return ceil_div(j * w.stride - w.low, w.base_dilation); };
  const auto last_row = [&](int64_t j) {
    return floor_div(j * w.stride + reach - w.low, w.base_dilation);
  };
  local.rows = std::max<int64_t>(1, last_row(local.results - 1) - first_row(0) + 1);
  local.low = first_row(0) * w.base_dilation + w.low;
  local.high = (local.results - 1) * w.stride + reach + 1 - local.low -
               ((local.rows - 1) * w.base_dilation + 1);
  const auto start = [&](int64_t r) { return r * block / phase * phase; };
  const auto first = [&](int64_t r) { return first_row(start(r)); };
  const auto count = [&](int64_t r) {
    const int64_t end = std::min(results, (r + 1) * block);
    const int64_t wanted = end > r * block ? last_row(end - 1) + 1 - first(r) : 0;
    return std::max<int64_t>(0, wanted);
  };
  // Blocks that start at the same phase are alike, up to the one that the results end in.
  std::optional<std::vector<int64_t>> bends;
  if (block % phase == 0) bends = {results / block, results / block + 1};
  local.first = RankFunction::of(ranks, bends, first);
  local.skip = RankFunction::of(ranks, bends, [&](int64_t r) { return r * block - start(r); });
  local.count = RankFunction::of(ranks, bends, count);
  return local;
}

}  // namespace spmd
