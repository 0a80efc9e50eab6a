// Which mesh axes divide the model rather than the batch.
#pragma once

#include <vector>

#include "ir/module.h"

namespace spmd {

// Mesh axes, of more than one device, over which no batch argument is divided: those that carry
// tensor parallelism, if any do. A batch argument is one that no result replaces; where no argument
// is replaced, none counts as a batch.
class ModelAxes {
 public:
  explicit ModelAxes(const Module& module);

  bool any() const { return any_; }

  // Whether dimension `dim` of `value`, a parameter or a plain function of one, is divided over a
  // model axis; true as well when its sharding is not known and any axis is left to choose.
  bool may_divide(const Function& fn, ValueId value, int64_t dim) const;

 private:
  bool divides(const Sharding& sharding, int64_t dim) const;

  std::vector<bool> is_model_axis_;
  bool any_ = false;
};

}  // namespace spmd
