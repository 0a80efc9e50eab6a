// Dimension classes: which dimensions must be padded together, and to what.
#pragma once

#include "passes/partition/reshard_costs.h"
#include "sharding/rules/factor_rule.h"

namespace spmd {

// All dimensions of all values of a function, joined into classes by the factors of its ops. The
// members of a class have padded sizes in the ratio of their true sizes; each padded size is a
// multiple of the shards of every placement that the dimension has, intermediate states of
// reshards included.
class DimensionClasses {
 public:
  DimensionClasses(const Function& fn, const std::vector<Placement>& placements,
                   const AtomTable& atoms, ReshardCosts& costs);

  // The padded shape of a value.
  Dims padded_shape(ValueId value) const;
  bool any_padding() const { return any_padding_; }
  bool is_padded(ValueId value, size_t dim) const {
    const uint32_t root = find(node(value, dim));
    return units_[root] != gcd_[root];
  }

  // The size that an op's factor has at that op: padded, or true where the op needs it so.
  std::vector<int64_t> factor_sizes(OpId op, const FactorRule& rule) const;

 private:
  uint32_t node(ValueId value, size_t dim) const {
    return first_[index_of(value)] + static_cast<uint32_t>(dim);
  }
  uint32_t find(uint32_t node) const;
  void unite(uint32_t a, uint32_t b);
  void tie_values(ValueId a, ValueId b);
  void tie_op(OpId id);
  void tie_by_rule(const Op& op, const FactorRule& rule);
  void require(ValueId value, const Placement& placement);
  void require_reshard(const Op& op);
  void require_whole_factors(const TensorFactors& tensor, ValueId value,
                             const std::vector<Factor>& factors);
  void solve();

  const Function& fn_;
  const std::vector<Placement>& placements_;
  const AtomTable& atoms_;
  ReshardCosts& costs_;
  std::vector<uint32_t> first_;           // node of each value's dimension 0
  mutable std::vector<uint32_t> parent_;  // union-find
  std::vector<int64_t> size_;             // true size by node
  std::vector<int64_t> multiple_;         // required divisor by node
  std::vector<int64_t> gcd_, units_;      // by root: padded size = size / gcd * units
  bool any_padding_ = false;
};

// Factors whose true size an op needs: those that need replication or are exchanged, and minor
// factors of a dimension of several.
std::vector<bool> exact_factors(const FactorRule& rule);

}  // namespace spmd
