// map: its scalar computation on whole tensors.
#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {

Values expand_map(Expansion& e) {
  e.require(e.op().regions.size() == 1, "expected one region");
  const Dims shape = e.result_type().shape;
  const BlockId region = e.op().regions[0];
  const std::vector<ValueId>& args = e.fn.block(region).args;
  e.require(args.size() == e.op().operands.size(), "the region takes another number of arguments");
  ValueMap values;
  for (size_t i = 0; i < args.size(); ++i) {
    e.require(e.operand_type(i).shape == shape, "operands and result differ in shape");
    values[args[i]] = e.operand(i);
  }
  const auto mapped = [&](ValueId value) {
    const auto found = values.find(value);
    if (found != values.end()) return found->second;
    e.require(e.type(value).rank() == 0, "its region reads a tensor from outside of it");
    return values[value] = e.b.broadcast(value, shape, {});
  };
  const OpId last = e.fn.terminator(region);
  for_each_op(e.fn, region, [&](OpId inner) {
    if (inner == last) return;
    const Op& op = e.fn.op(inner);
    for (ValueId result : op.results) {
      e.require(e.type(result).rank() == 0, "its region computes with tensors");
    }
    if (op.code == OpCode::kConstant) {
      const Literal& scalar = op.as<ConstantAttrs>().value;
      values[op.results[0]] = e.b.constant(
          Literal::splat(scalar.type().with_shape(shape), static_cast<const void*>(scalar.data())));
      return;
    }
    const bool moves = op.code == OpCode::kReshape || op.code == OpCode::kBroadcastInDim;
    if (moves) {  // of scalars
      values[op.results[0]] = mapped(op.operands[0]);
      return;
    }
    e.require(family_of(op.code) == OpFamily::kElementwise,
              fmt::format("its region contains {}, not only elementwise ops", name_of(op.code)));
    std::vector<ValueId> operands;
    for (ValueId operand : op.operands) operands.push_back(mapped(operand));
    const TensorType type = e.type(op.results[0]).with_shape(shape);
    values[op.results[0]] =
        e.fn.op(e.b.create(op.code, std::move(operands), {type}, op.attrs)).results[0];
  });
  Values results;
  for (ValueId result : e.fn.op(last).operands) results.push_back(mapped(result));
  return results;
}

}  // namespace spmd::expand
