#include "sharding/spec/axis_factors.h"

#include <algorithm>

#include "sharding/spec/prime_factors.h"

namespace spmd {
namespace {

// Where an axis is cut: numbers of which each divides the next, from 1 to the axis' size.
class Cuts {
 public:
  explicit Cuts(int64_t full) : cuts_{1, full} {}

  bool fits(int64_t cut) const {
    return std::all_of(cuts_.begin(), cuts_.end(),
                       [&](int64_t other) { return cut % other == 0 || other % cut == 0; });
  }
  void add(int64_t cut) {
    const auto place = std::lower_bound(cuts_.begin(), cuts_.end(), cut);
    if (place == cuts_.end() || *place != cut) cuts_.insert(place, cut);
  }

  // Primes between the cuts, the smallest first.
  std::vector<int64_t> factors() const {
    std::vector<int64_t> primes;
    for (size_t i = 1; i < cuts_.size(); ++i) {
      const std::vector<int64_t> between = prime_factors(cuts_[i] / cuts_[i - 1]);
      primes.insert(primes.end(), between.begin(), between.end());
    }
    return primes;
  }

 private:
  std::vector<int64_t> cuts_;
};

}  // namespace

void choose_factors(const AxisList& parts, Mesh& mesh) {
  for (int axis = 0; axis < mesh.num_axes(); ++axis) {
    const int64_t full = mesh.axis_size(axis);
    Cuts cuts(full);
    for (const AxisRef& part : parts) {
      if (part.axis != axis || part.is_full() || !is_factor(part.pre, part.size, full)) continue;
      const int64_t begin = part.pre, end = part.pre * part.size;
      if (!cuts.fits(begin) || !cuts.fits(end)) continue;
      cuts.add(begin);
      cuts.add(end);
    }
    mesh.set_factors(axis, cuts.factors());
  }
}

}  // namespace spmd
