#include <algorithm>

#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {

Types infer_reduce(const Types& in, const ReduceAttrs& attrs) {
  require(!in.empty() && in.size() % 2 == 0, "reduce needs one initial value per operand");
  Types results;
  for (size_t i = 0; i < in.size() / 2; ++i) {
    require_same_shape(in[0], in[i]);
    require_dims(attrs.dims, in[i].rank(), "reduced dimension");
    require(in[in.size() / 2 + i].rank() == 0, "an initial value of reduce is not a scalar");
    TensorType result{in[i].dtype, {}};
    for (int64_t dim = 0; dim < in[i].rank(); ++dim) {
      if (std::find(attrs.dims.begin(), attrs.dims.end(), dim) == attrs.dims.end()) {
        result.shape.push_back(in[i].dim(dim));
      }
    }
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace spmd::infer
