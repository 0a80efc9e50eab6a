#include "sharding/propagation/factor_axes.h"

namespace spmd {

std::vector<AtomList> axes_of_factors(const AtomList& dim_axes, const DimFactors& factors,
                                      std::span<const Factor> table, const AtomTable& atoms) {
  std::vector<AtomList> lists(factors.size());
  size_t next = 0;
  for (size_t f = 0; f < factors.size() && next < dim_axes.size(); ++f) {
    const int64_t size = table[static_cast<size_t>(factors[f])].size;
    int64_t covered = 1;
    while (next < dim_axes.size() && covered < size) {
      const int64_t extent = atoms.extent(dim_axes[next]);
      // The axis would straddle the boundary to the next factor, or cut a minor one unevenly.
      const bool uneven = size % (covered * extent) != 0;
      if (uneven && (f > 0 || (f + 1 < factors.size() && covered > 1))) return lists;
      covered *= extent;
      lists[f].push_back(dim_axes[next++]);
    }
    if (covered != size) break;
  }
  return lists;
}

AtomList axes_of_dim(const DimFactors& factors, std::span<const Factor> table,
                     const std::vector<AtomList>& axes_by_factor, const AtomTable& atoms) {
  AtomList axes;
  for (int factor : factors) {
    const AtomList& list = axes_by_factor[static_cast<size_t>(factor)];
    axes.insert(axes.end(), list.begin(), list.end());
    if (atoms.extent(list) != table[static_cast<size_t>(factor)].size) break;
  }
  return axes;
}

}  // namespace spmd
