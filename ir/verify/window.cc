#include <algorithm>

#include "ir/verify/reductions.h"

namespace spmd::verifier {
namespace {

void verify_select_and_scatter(const OpView& v) {
  const auto& window = v.op.as<WindowAttrs>();
  for (const Dims* dilations : {&window.base_dilation, &window.window_dilation}) {
    v.require(std::all_of(dilations->begin(), dilations->end(), [](int64_t d) { return d == 1; }),
              "its window has dilations, expected none");
  }
  const TensorType scalar{v.operand(0).dtype, {}};
  v.require(v.operand(1).dtype == scalar.dtype, "the source is {}, expected elements of {}",
            v.operand(1), scalar.dtype);
  v.require_type("the initial value", v.operand(2), scalar);
  v.require_region(0, "the selection", {scalar, scalar}, {{DType::kBool, {}}});
  v.require_reducer(1, {scalar.dtype});
}

}  // namespace

void verify_window(const OpView& v) {
  if (v.op.code == OpCode::kReduceWindow) return require_reduction(v);
  verify_select_and_scatter(v);
}

}  // namespace spmd::verifier
