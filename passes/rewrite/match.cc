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
    case DType::kF8E8M0FNU:
      return 1;
    case DType::kF4E2M1FN:
      return 2;
    case DType::kF6E3M2FN:
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
      return 3;
    case DType::kF6E2M3FN:
    case DType::kF8E4M3:
    case DType::kF8E4M3B11FNUZ:
    case DType::kF8E4M3FN:
    case DType::kF8E4M3FNUZ:
      return 4;
    case DType::kF8E3M4:
      return 5;
    case DType::kF16:
      return 11;
    case DType::kBF16:
      return 8;
    case DType::kF32:
      return 24;
    case DType::kF64:
      return 53;
    default: {
      const int bits = bit_width(dtype);
      return is_signed_int(dtype) ? bits - 1 : bits;
    }
  }
}

// Of the largest finite value of a float type.
int largest_exponent(DType dtype) {
  switch (dtype) {
    case DType::kF4E2M1FN:
    case DType::kF6E2M3FN:
      return 2;
    case DType::kF8E3M4:
      return 3;
    case DType::kF6E3M2FN:
    case DType::kF8E4M3B11FNUZ:
      return 4;
    case DType::kF8E4M3:
    case DType::kF8E4M3FNUZ:
      return 7;
    case DType::kF8E4M3FN:
      return 8;
    case DType::kF8E5M2:
    case DType::kF8E5M2FNUZ:
    case DType::kF16:
      return 15;
    case DType::kF8E8M0FNU:
    case DType::kBF16:
    case DType::kF32:
      return 127;
    default:
      return 1023;
  }
}

// 2^bits is a finite value of the float type.
bool reaches(DType dtype, int bits) { return bits <= largest_exponent(dtype); }

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
  const Uses& uses = fn.value(value).uses;
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
    if (!is_float(to) || byte_size(to) <= byte_size(from)) return false;
    return to != DType::kF16 || from != DType::kF8E8M0FNU;  // wider formats hold the narrower ones
  }
  if (is_float(to)) return bits <= precision_bits(to) && reaches(to, bits);
  if (is_signed_int(from) && is_unsigned_int(to)) return false;
  return bits <= precision_bits(to);
}

}  // namespace spmd
