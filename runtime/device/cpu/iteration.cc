#include "runtime/device/cpu/iteration.h"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace spmd::cpu {
namespace {

void permute_dims(Iteration& it, const std::vector<size_t>& order) {
  const auto apply = [&](std::vector<int64_t>& dims) {
    std::vector<int64_t> result;
    for (size_t d : order) result.push_back(dims[d]);
    dims = std::move(result);
  };
  apply(it.shape);
  for (std::vector<int64_t>& strides : it.strides) apply(strides);
}

}  // namespace

void drop_unit_dims(Iteration& it) {
  std::vector<size_t> kept;
  for (size_t d = 0; d < it.rank(); ++d)
    if (it.shape[d] != 1) kept.push_back(d);
  permute_dims(it, kept);
}

void sort_dims(Iteration& it, size_t leader) {
  std::vector<size_t> order(it.rank());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t la = std::abs(it.stride(leader, a)), lb = std::abs(it.stride(leader, b));
    if (la != lb) return la > lb;
    int64_t sum_a = 0, sum_b = 0;
    for (const auto& strides : it.strides) {
      sum_a += std::abs(strides[a]);
      sum_b += std::abs(strides[b]);
    }
    return sum_a > sum_b;
  });
  permute_dims(it, order);
}

void join_dims(Iteration& it) {
  size_t last = 0;  // dimensions [0, last] are done
  if (it.rank() == 0) return;
  for (size_t d = 1; d < it.rank(); ++d) {
    const bool joins = std::all_of(it.strides.begin(), it.strides.end(), [&](const auto& strides) {
      return strides[last] == strides[d] * it.shape[d];
    });
    if (!joins) ++last;
    it.shape[last] = joins ? it.shape[last] * it.shape[d] : it.shape[d];
    for (auto& strides : it.strides) strides[last] = strides[d];
  }
  it.shape.resize(last + 1);
  for (auto& strides : it.strides) strides.resize(last + 1);
}

}  // namespace spmd::cpu
