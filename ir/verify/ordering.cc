#include "ir/verify/families.h"

namespace spmd::verifier {
namespace {

// The comparator takes two elements of each operand, side by side.
void verify_sort(const OpView& v) {
  Types arguments;
  for (size_t i = 0; i < v.op.operands.size(); ++i) {
    arguments.insert(arguments.end(), 2, {v.operand(i).dtype, {}});
  }
  v.require_region(0, "the comparator", arguments, {{DType::kBool, {}}});
}

}  // namespace

void verify_ordering(const OpView& v) {
  if (v.op.code == OpCode::kSort) return verify_sort(v);
  v.require_operands_of(kBooleans | kIntegers | kFloats);
}

}  // namespace spmd::verifier
