#include "passes/equivalence/moved_program.h"

#include <algorithm>
#include <cstring>

#include "ir/builder.h"
#include "ir/reducer_region.h"

namespace spmd {
namespace {

// Elementwise ops whose results are exact.
bool is_exact(const Function& fn, const Op& op) {
  switch (op.code) {
    case OpCode::kAbs:
    case OpCode::kCeil:
    case OpCode::kClamp:
    case OpCode::kFloor:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kNegate:
    case OpCode::kReducePrecision:
    case OpCode::kRemainder:
    case OpCode::kRoundNearestAfz:
    case OpCode::kRoundNearestEven:
    case OpCode::kSelect:
    case OpCode::kSign:
      return true;
    case OpCode::kConvert:
      return bit_width(fn.type(op.results[0]).dtype) > bit_width(fn.type(op.operands[0]).dtype);
    default:
      return false;
  }
}

bool is_sum(const Function& fn, const Op& op) {
  const std::optional<OpCode> reducer = reducer_of(fn, op.regions.back());
  return reducer != OpCode::kMaximum && reducer != OpCode::kMinimum;
}

double product(const Dims& sizes) {
  double result = 1;
  for (int64_t size : sizes) result *= static_cast<double>(size);
  return result;
}

double num_elements(const Function& fn, ValueId value) {
  return static_cast<double>(std::max<int64_t>(1, fn.type(value).num_elements()));
}

// How many terms an element of the op's results is the sum of, at most; 0 for ops that do not
// round.
double terms_of(const Function& fn, const Op& op) {
  switch (op.code) {
    case OpCode::kDotGeneral: {
      double terms = 1;
      for (int64_t dim : op.as<DotAttrs>().lhs_contracting) {
        terms *= static_cast<double>(fn.type(op.operands[0]).dim(dim));
      }
      return std::max(1.0, terms);
    }
    case OpCode::kConvolution:
      return num_elements(fn, op.operands[1]);
    case OpCode::kReduce:
      if (!is_sum(fn, op)) return 0;
      return num_elements(fn, op.operands[0]) / num_elements(fn, op.results[0]);
    case OpCode::kReduceWindow:
      return is_sum(fn, op) ? product(op.as<WindowAttrs>().size) : 0;
    case OpCode::kScatter:
      return is_sum(fn, op) ? num_elements(fn, op.operands.back()) : 0;
    case OpCode::kSelectAndScatter:
      return is_sum(fn, op) ? num_elements(fn, op.operands[1]) : 0;
    case OpCode::kAllReduce:
    case OpCode::kReduceScatter:
      return is_sum(fn, op) ? 1 : 0;
    default:
      return family_of(op.code) == OpFamily::kElementwise && !is_exact(fn, op) ? 1 : 0;
  }
}

// The value times 1 and a little, from here on.
void move_value(Function& fn, OpId op, ValueId value, double unit, double units,
                std::mt19937_64& random) {
  if (!is_float(fn.type(value).dtype)) return;
  Builder builder = Builder::after(fn, op);
  const ValueId factor =
      builder.constant(moved(Literal::splat(fn.type(value), 1), unit, units, random));
  const OpId product = builder.create(OpCode::kMultiply, {factor, factor});
  fn.replace_all_uses(value, fn.op(product).results[0]);
  fn.set_operands(product, {value, factor});
}

void move_values(Function& fn, double unit, double units, std::mt19937_64& random) {
  std::vector<OpId> ops;
  walk(fn, [&](OpId id) {
    if (!is_reducer_region(fn, fn.op(id).block)) ops.push_back(id);
  });
  for (OpId id : ops) {
    if (fn.op(id).code == OpCode::kConstant) {
      Literal& value = fn.op(id).as<ConstantAttrs>().value;
      value = moved(value, unit, units, random);
      continue;
    }
    const double terms = terms_of(fn, fn.op(id));
    if (terms == 0) continue;
    for (ValueId result : std::vector<ValueId>(fn.op(id).results)) {
      move_value(fn, id, result, unit, units + terms, random);
    }
  }
}

}  // namespace

double rounding_unit(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 0x1p-4;
    case DType::kF8E5M2:
      return 0x1p-3;
    case DType::kBF16:
      return 0x1p-8;
    case DType::kF16:
      return 0x1p-11;
    case DType::kF64:
    case DType::kC128:
      return 0x1p-53;
    default:
      return 0x1p-24;
  }
}

Literal moved(const Literal& literal, double unit, double units, std::mt19937_64& random) {
  const DType dtype = literal.type().dtype;
  if (!is_float(dtype)) return literal;
  const double step = units * std::max(unit, rounding_unit(dtype));
  std::uniform_real_distribution<double> part(-1, 1);
  Literal result = literal.expanded();
  std::byte* out = result.mutable_data();
  const auto size = static_cast<size_t>(byte_size(dtype));
  for (int64_t e = 0; e < literal.type().num_elements(); ++e, out += size) {
    const double value = literal.as_double(e) * (1 + part(random) * step);
    std::memcpy(out, Literal::splat({dtype, {}}, value).data(), size);
  }
  return result;
}

Module moved_program(const Module& module, double unit, double units, std::mt19937_64& random) {
  Module copy = module.clone();
  for (const auto& fn : copy.functions()) move_values(*fn, unit, units, random);
  return copy;
}

}  // namespace spmd
