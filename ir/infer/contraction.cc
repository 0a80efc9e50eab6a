#include <algorithm>

#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {

TensorType infer_dot(const Types& in, const DotAttrs& attrs) {
  require_count(in, 2);
  const TensorType &lhs = in[0], &rhs = in[1];
  require(attrs.lhs_batch.size() == attrs.rhs_batch.size() &&
              attrs.lhs_contracting.size() == attrs.rhs_contracting.size(),
          "batching or contracting dimensions differ in number");
  const auto side = [](const TensorType& type, const Dims& batch, const Dims& contracting) {
    Dims used = batch;
    used.insert(used.end(), contracting.begin(), contracting.end());
    require_dims(used, type.rank(), "dot dimension");
    return used;
  };
  const Dims lhs_used = side(lhs, attrs.lhs_batch, attrs.lhs_contracting);
  const Dims rhs_used = side(rhs, attrs.rhs_batch, attrs.rhs_contracting);
  for (size_t i = 0; i < lhs_used.size(); ++i) {
    require(lhs.dim(lhs_used[i]) == rhs.dim(rhs_used[i]),
            "dot dimension {} of {} and {} of {} differ in size", lhs_used[i], lhs, rhs_used[i],
            rhs);
  }
  TensorType result{lhs.dtype, {}};
  for (int64_t dim : attrs.lhs_batch) result.shape.push_back(lhs.dim(dim));
  const auto append_free = [&](const TensorType& type, const Dims& used) {
    for (int64_t dim = 0; dim < type.rank(); ++dim) {
      if (std::find(used.begin(), used.end(), dim) == used.end()) {
        result.shape.push_back(type.dim(dim));
      }
    }
  };
  append_free(lhs, lhs_used);
  append_free(rhs, rhs_used);
  return result;
}

}  // namespace spmd::infer
