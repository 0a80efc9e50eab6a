#include "passes/rewrite/match.h"

#include <algorithm>
#include <numeric>

namespace spmd {
namespace {

// Value bits: of the magnitude of integers, of the significand of floats.
int precision_bits(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return 1;
    case DType::kS4:
      return 3;
    case DType::kU4:
      return 4;
    case DType::kF8E4M3FN:
      return 4;
    case DType::kF8E5M2:
      return 3;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF32:
      return 24;
    case DType::kF64:
      return 53;
    default: {
      const int bits = static_cast<int>(byte_size(dtype)) * 8;
      return is_signed_int(dtype) ? bits - 1 : bits;
    }
  }
}

int exponent_bits(DType dtype) {
  switch (dtype) {
    case DType::kF8E4M3FN:
      return 4;
    case DType::kF8E5M2:
    case DType::kF16:
      return 5;
    case DType::kBF16:
    case DType::kF32:
      return 8;
    default:
      return 11;
  }
}

// 2^bits is a finite value of the float type.
bool reaches(DType dtype, int bits) {
  const int largest_exponent =
      dtype == DType::kF8E4M3FN ? 8 : (1 << (exponent_bits(dtype) - 1)) - 1;
  return bits <= largest_exponent;
}

}  // namespace

OpId def_id(const Function& fn, ValueId value) { return fn.value(value).def; }

const Op* def_of(const Function& fn, ValueId value, OpCode code) {
  const Op* op = fn.def(value);
  return op != nullptr && op->code == code ? op : nullptr;
}

const Literal* constant_of(const Function& fn, ValueId value) {
  const Op* op = def_of(fn, value, OpCode::kConstant);
  return op == nullptr ? nullptr : &op->as<ConstantAttrs>().value;
}

std::optional<Literal> splat_of(const Function& fn, ValueId value) {
  if (const Op* broadcast = def_of(fn, value, OpCode::kBroadcastInDim)) {
    value = broadcast->operands[0];
  }
  const Literal* literal = constant_of(fn, value);
  if (literal == nullptr || literal->empty()) return std::nullopt;
  if (!literal->is_splat() && literal->type().num_elements() != 1) return std::nullopt;
  return Literal::splat({literal->type().dtype, {}}, static_cast<const void*>(literal->data()));
}

bool is_splat(const Function& fn, ValueId value, double number) {
  const auto splat = splat_of(fn, value);
  return splat && !is_complex(splat->type().dtype) && splat->as_double(0) == number;
}

Dims iota_dims(int64_t rank) {
  Dims dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  return dims;
}

bool is_iota(const Dims& dims) { return dims == iota_dims(static_cast<int64_t>(dims.size())); }

bool contains(const Dims& dims, int64_t dim) {
  return std::find(dims.begin(), dims.end(), dim) != dims.end();
}

Dims without_ones(const Dims& shape) {
  Dims rest;
  std::copy_if(shape.begin(), shape.end(), std::back_inserter(rest),
               [](int64_t size) { return size != 1; });
  return rest;
}

bool only_used_by(const Function& fn, ValueId value, OpId user) {
  const std::vector<Use>& uses = fn.value(value).uses;
  return std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return use.op == user; });
}

bool converts_exactly(DType from, DType to) {
  if (from == to) return true;
  if (is_complex(from) || is_complex(to) || from == DType::kToken || to == DType::kToken) {
    return false;
  }
  if (to == DType::kBool) return false;
  const int bits = precision_bits(from);
  if (is_float(from)) {
    return is_float(to) && bits <= precision_bits(to) && exponent_bits(from) <= exponent_bits(to);
  }
  if (is_float(to)) return bits <= precision_bits(to) && reaches(to, bits);
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  return bits <= precision_bits(to);
}

}  // namespace spmd
