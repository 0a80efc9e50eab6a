// Builder: creates ops with inferred result types.
#pragma once

#include <span>

#include "ir/module.h"

namespace spmd {

// Result types of an op from its operands, attributes and, where these do not determine them
// (reshape, convert, broadcast_in_dim, bitcast_convert, iota, rng_bit_generator), not at all: then
// an InternalError. Throws UserError, without a place, when the operands do not fit the op.
std::vector<TensorType> infer_types(const Function& fn, OpCode code,
                                    std::span<const ValueId> operands, const Attrs& attrs);

// Inserts at a point that moves along: each new op comes after the one before.
class Builder {
 public:
  Builder(Function& fn, BlockId block, OpId before = OpId::kNone)
      : fn_(fn), block_(block), before_(before) {}
  static Builder before(Function& fn, OpId op) { return Builder(fn, fn.op(op).block, op); }
  static Builder after(Function& fn, OpId op) {
    return Builder(fn, fn.op(op).block, fn.op(op).next);
  }

  Function& function() { return fn_; }
  BlockId block() const { return block_; }
  LocationRef location;  // given to every op created

  OpId create(OpCode code, ValueIds operands, std::vector<TensorType> types,
              Attrs attrs = NoAttrs{});
  // With inferred types.
  OpId create(OpCode code, ValueIds operands, Attrs attrs = NoAttrs{});

  ValueId value(OpCode code, ValueIds operands, Attrs attrs = NoAttrs{}) {
    return fn_.op(create(code, std::move(operands), std::move(attrs))).results[0];
  }
  ValueId constant(Literal literal);
  ValueId splat(TensorType type, double value);
  ValueId scalar(DType dtype, double value) { return splat({dtype, {}}, value); }
  ValueId iota(TensorType type, int64_t dim);
  ValueId convert(ValueId operand, DType dtype);
  ValueId reshape(ValueId operand, Dims shape);
  ValueId transpose(ValueId operand, Dims permutation);
  ValueId broadcast(ValueId operand, Dims shape, Dims dims);
  ValueId slice(ValueId operand, Dims start, Dims limit, Dims stride = {});
  ValueId pad(ValueId operand, ValueId padding, Dims low, Dims high, Dims interior = {});
  ValueId compare(CompareDirection direction, ValueId lhs, ValueId rhs);
  ValueId binary(OpCode code, ValueId lhs, ValueId rhs) { return value(code, {lhs, rhs}); }
  ValueId select(ValueId predicate, ValueId on_true, ValueId on_false) {
    return value(OpCode::kSelect, {predicate, on_true, on_false});
  }
  // Reduces `dims` by the binary op `reducer` (kAdd, kMaximum, ...) from `init`.
  ValueId reduce(ValueId operand, ValueId init, Dims dims, OpCode reducer);
  OpId return_op(ValueIds operands);

 private:
  Function& fn_;
  BlockId block_;
  OpId before_;
};

// Fills a new region of `op` with `reducer` applied to two scalars of `dtype`.
void add_reducer_region(Function& fn, OpId op, OpCode reducer, DType dtype);

// The binary op that a reducer region consists of, for a region of two scalar arguments (or of
// 2N arguments where result i combines arguments i and i+N: then nullopt unless N is 1).
std::optional<OpCode> reducer_of(const Function& fn, BlockId region);

// The identity of a reducer: add 0, multiply 1, maximum -inf or the lowest integer, ...
Literal reducer_identity(OpCode reducer, DType dtype);

// Copies `block`'s ops into `builder`'s place; `values` maps the block's outer values and
// arguments to new ones where they differ and receives the results. Returns the mapped operands of
// the terminator, which is not copied.
using ValueMap = std::unordered_map<ValueId, ValueId>;
std::vector<ValueId> inline_block(const Function& from, BlockId block, Builder& builder,
                                  ValueMap& values);
// Copies one op with its regions.
OpId clone_op(const Function& from, OpId op, Builder& builder, ValueMap& values);

}  // namespace spmd
