#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "codegen/kernels/lower.h"
#include "codegen/views.h"

namespace spmd::codegen::kernels {
namespace {

// One of the two spaces with everything that is strided on it.
struct Space {
  Dims* sizes;
  std::vector<Dims*> strides;
  const Dims* leader;
};

Space space_of(Kernel& kernel, int leader, bool rows) {
  Space space;
  const auto side = [&](Strides& strides) { return rows ? &strides.rows : &strides.columns; };
  space.sizes = rows ? &kernel.rows : &kernel.columns;
  for (Access& access : kernel.accesses) space.strides.push_back(side(access.strides));
  space.leader = space.strides[static_cast<size_t>(leader)];
  for (Node& node : kernel.nodes)
    if (node.kind == Node::Kind::kIota) space.strides.push_back(side(node.strides));
  return space;
}

// The largest strides of the leader, then of all, first.
void sort(Space& space) {
  const size_t rank = space.sizes->size();
  Dims sums(rank, 0);
  for (const Dims* strides : space.strides)
    for (size_t d = 0; d < rank; ++d) sums[d] += std::abs((*strides)[d]);
  std::vector<size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    const int64_t la = std::abs((*space.leader)[a]), lb = std::abs((*space.leader)[b]);
    return la != lb ? la > lb : sums[a] > sums[b];
  });
  const auto permute = [&](Dims& dims) {
    Dims result;
    for (size_t d : order) result.push_back(dims[d]);
    dims = std::move(result);
  };
  permute(*space.sizes);
  for (Dims* strides : space.strides) permute(*strides);
}

Mapping choose_mapping(const Kernel& kernel, const Strides& leader) {
  if (kernel.reductions.empty() && kernel.columns.empty()) return Mapping::kFlat;
  if (kernel.rows.empty()) return Mapping::kRows;
  if (kernel.columns.empty()) return Mapping::kColumnTiles;
  const bool few_rows_side_by_side = kernel.rows.back() < 16 && kernel.columns.back() >= 64;
  const bool along_memory = std::abs(leader.columns.back()) < std::abs(leader.rows.back());
  return few_rows_side_by_side || along_memory ? Mapping::kRows : Mapping::kColumnTiles;
}

}  // namespace

void canonicalize(Kernel& kernel, int leader) {
  for (const bool rows : {true, false}) {
    Space space = space_of(kernel, leader, rows);
    sort(space);
    collapse(*space.sizes, space.strides);
  }
  kernel.mapping = choose_mapping(kernel, kernel.accesses[static_cast<size_t>(leader)].strides);
}

}  // namespace spmd::codegen::kernels
