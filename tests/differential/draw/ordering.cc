#include <algorithm>

#include "tests/differential/op_drawer.h"

namespace spmd::testing {

// Orders by the first operand, or by its magnitude; where that ties, perhaps by the next.
void OpDrawer::comparator(OpId op, const std::vector<DType>& dtypes, CompareDirection direction) {
  const BlockId region = fn_.add_region(op);
  std::vector<ValueId> args;
  for (DType dtype : dtypes) {
    for (int side = 0; side < 2; ++side) {
      args.push_back(fn_.add_block_argument(region, {dtype, {}}));
    }
  }
  Builder inner(fn_, region);
  if (!is_unsigned_int(dtypes[0]) && random_.chance(15)) {
    for (size_t side : {0, 1}) args[side] = inner.value(OpCode::kAbs, {args[side]});
  }
  ValueId before = inner.compare(direction, args[0], args[1]);
  if (dtypes.size() > 1 && random_.chance(40)) {
    const ValueId tie = inner.compare(CompareDirection::kEq, args[0], args[1]);
    before = inner.select(tie, inner.compare(CompareDirection::kGt, args[2], args[3]), before);
  }
  inner.return_op({before});
}

ValueId OpDrawer::sort(ValueId x) {
  if (type(x).rank() == 0 || type(x).dtype == DType::kBool || rough(x)) return ValueId::kNone;
  std::vector<ValueId> operands = {x};
  std::vector<DType> dtypes = {type(x).dtype};
  for (int64_t more = random_.below(3); more > 0; --more) {
    dtypes.push_back(number());
    operands.push_back(firm_like(type(x).with_dtype(dtypes.back())));
  }
  const OpId op =
      b_->create(OpCode::kSort, operands, SortAttrs{random_.below(type(x).rank()), true});
  comparator(op, dtypes, random_.chance(50) ? CompareDirection::kLt : CompareDirection::kGt);
  ValueId last = ValueId::kNone;
  for (size_t i = 0; i < operands.size(); ++i) {
    last = known(fn_.op(op).results[i], bound(operands[i]));
  }
  return last;
}

ValueId OpDrawer::top_k(ValueId x) {
  if (type(x).rank() == 0 || type(x).shape.back() == 0) return ValueId::kNone;
  // Of integers: the order of zeros of different sign depends on the order of additions.
  TensorType wanted = type(x);
  if (!is_integer(wanted.dtype)) wanted.dtype = DType::kS32;
  // Long dimensions are searched in blocks, where these are, when few of each are wanted.
  const bool few = random_.chance(60);
  int64_t& extent = wanted.shape.back();
  if (few && wanted.num_elements() < 60) {
    // Blocks of three over 4 and 8 ranks, of which the last has none.
    extent = setting_.has(Circumstance::kEmptyShard) ? random_.of<int64_t>({9, 9, 17, 18})
                                                     : std::max(extent, random_.pick(5, 13));
  }
  const int64_t k = random_.pick(1, few ? 1 + extent / 6 : extent);
  if (wanted != type(x)) x = like(wanted);
  if (few) x = cut(x, {wanted.rank() - 1});
  const OpId op = b_->create(OpCode::kTopK, {x}, TopKAttrs{k});
  known(fn_.op(op).results[0], bound(x));
  return known(fn_.op(op).results[1], static_cast<double>(extent));
}

}  // namespace spmd::testing
