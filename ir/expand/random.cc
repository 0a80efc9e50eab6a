// rng: distributions over bits that depend on nothing but the op's place among its kind, so that a
// program draws the same numbers on every mesh and in every run.
#include <cmath>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

// The number of rng ops before this one in its function.
uint64_t place_of(const Expansion& e) {
  uint64_t place = 0;
  bool found = false;
  walk(e.fn, [&](OpId id) {
    found = found || id == e.id;
    const OpCode code = e.fn.op(id).code;
    // Those before it are bits already.
    if (!found && (code == OpCode::kRng || code == OpCode::kRngBitGenerator)) ++place;
  });
  return place;
}

ValueId random_bits(Expansion& e, const TensorType& type) {
  const std::vector<uint64_t> state = {0x9E3779B97F4A7C15u + place_of(e), 0};
  const ValueId seed = e.b.constant(Literal::of({DType::kU64, {2}}, state));
  const OpId op = e.b.create(OpCode::kRngBitGenerator, {seed}, {e.type(seed), type},
                             RngBitGeneratorAttrs{RngAlgorithm::kThreeFry});
  return e.fn.op(op).results[1];
}

// In [0, 1), of the precision of `dtype` (f32 or f64): the highest bits, as an integer, scaled.
ValueId unit_uniform(Expansion& e, const Dims& shape, DType dtype) {
  const bool wide = dtype == DType::kF64;
  const int precision = wide ? 53 : 24;
  const ValueId bits = random_bits(e, {wide ? DType::kU64 : DType::kU32, shape});
  const ValueId high =
      e.binary(OpCode::kShiftRightLogical, bits, e.like(bits, (wide ? 64 : 32) - precision));
  const ValueId number = e.b.convert(high, dtype);
  return e.binary(OpCode::kMultiply, number, e.like(number, std::ldexp(1.0, -precision)));
}

}  // namespace

Values expand_rng(Expansion& e) {
  const Dims shape = e.result_shape(2);
  const DType dtype = e.operand_type(0).dtype;
  e.require(e.operand_type(0).rank() == 0 && e.operand_type(1) == e.operand_type(0),
            "the parameters are not two scalars of one type");
  const ValueId a = e.b.broadcast(e.operand(0), shape, {});
  const ValueId b = e.b.broadcast(e.operand(1), shape, {});
  const bool normal = e.attrs<RngAttrs>().distribution == RngDistribution::kNormal;
  if (dtype == DType::kBool) {
    e.require(!normal, "a normal distribution of booleans");
    const ValueId bits = random_bits(e, {DType::kU32, shape});
    const ValueId coin = e.b.compare(
        CompareDirection::kNe, e.binary(OpCode::kAnd, bits, e.like(bits, 1)), e.like(bits, 0));
    // In [a, b): false, unless both are one value.
    const ValueId differ = e.binary(OpCode::kXor, a, b);
    return {e.b.select(differ, a, coin)};
  }
  if (is_integer(dtype)) {
    e.require(!normal, "a normal distribution of integers");
    const ValueId bits = random_bits(e, {DType::kU64, shape});
    const ValueId range = e.b.convert(
        e.binary(OpCode::kSubtract, e.b.convert(b, DType::kS64), e.b.convert(a, DType::kS64)),
        DType::kU64);
    const ValueId offset = e.binary(OpCode::kRemainder, bits, range);
    return {e.binary(OpCode::kAdd, a, e.b.convert(offset, dtype))};
  }
  e.require(is_float(dtype), fmt::format("random numbers of type {}", name_of(dtype)));
  const DType computed = dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  const ValueId low = e.b.convert(a, computed), high = e.b.convert(b, computed);
  const ValueId unit = unit_uniform(e, shape, computed);
  if (!normal) {
    const ValueId range = e.binary(OpCode::kSubtract, high, low);
    return {
        e.b.convert(e.binary(OpCode::kAdd, low, e.binary(OpCode::kMultiply, range, unit)), dtype)};
  }
  // The quantile function at the middle of each cell, which is never 0 or 1.
  const int precision = computed == DType::kF64 ? 53 : 24;
  const ValueId middle =
      e.binary(OpCode::kAdd, unit, e.like(unit, std::ldexp(1.0, -precision - 1)));
  const ValueId symmetric = e.binary(
      OpCode::kSubtract, e.binary(OpCode::kMultiply, middle, e.like(unit, 2)), e.like(unit, 1));
  const ValueId deviate = e.binary(OpCode::kMultiply, e.unary(OpCode::kErfInv, symmetric),
                                   e.like(unit, std::sqrt(2.0)));
  return {
      e.b.convert(e.binary(OpCode::kAdd, low, e.binary(OpCode::kMultiply, high, deviate)), dtype)};
}

}  // namespace spmd::expand
