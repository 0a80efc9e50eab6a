#include "ir/infer/checks.h"
#include "ir/infer/families.h"

namespace spmd::infer {

Types infer_ordering(OpCode code, const Types& in, const Attrs& attrs) {
  if (code == OpCode::kSort) {
    require(!in.empty(), "sort needs an operand");
    for (const TensorType& type : in) require_same_shape(in[0], type);
    require_dim(std::get<SortAttrs>(attrs).dim, in[0].rank(), "sort dimension");
    return in;
  }
  require_count(in, 1);
  require(in[0].rank() > 0, "top_k of a scalar");
  TensorType result = in[0];
  require(std::get<TopKAttrs>(attrs).k >= 0 && std::get<TopKAttrs>(attrs).k <= result.shape.back(),
          "k of top_k is larger than the dimension");
  result.shape.back() = std::get<TopKAttrs>(attrs).k;
  return {result, result.with_dtype(DType::kS32)};
}

}  // namespace spmd::infer
