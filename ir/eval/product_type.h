// The types in which products are summed.
#pragma once

#include <complex>
#include <type_traits>

#include "ir/dtype.h"
#include "support/error.h"

namespace spmd::eval {

// For operands and result of these types: the widest of them, float32 for narrow floats. Integers
// wrap, so 64 unsigned bits sum any of them.
inline DType product_type(DType lhs, DType rhs, DType result) {
  switch (kind_of(result)) {
    case DTypeKind::kFloat:
      return lhs == DType::kF64 || rhs == DType::kF64 || result == DType::kF64 ? DType::kF64
                                                                               : DType::kF32;
    case DTypeKind::kComplex:
      return result;
    case DTypeKind::kSigned:
    case DTypeKind::kUnsigned:
      return DType::kU64;
    case DTypeKind::kBoolean:
    case DTypeKind::kOpaque:
      return result;
  }
  return result;
}

// Of booleans the product is "and" and the sum "or".
struct Boolean {
  uint8_t value = 0;
  friend Boolean operator*(Boolean a, Boolean b) {
    return {static_cast<uint8_t>(a.value != 0 && b.value != 0)};
  }
  Boolean& operator+=(Boolean other) {
    value = static_cast<uint8_t>(value != 0 || other.value != 0);
    return *this;
  }
};

// Calls f(std::type_identity<T>) with the arithmetic of a product type.
template <typename F>
void with_product_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kF32:
      return f(std::type_identity<float>());
    case DType::kF64:
      return f(std::type_identity<double>());
    case DType::kC64:
      return f(std::type_identity<std::complex<float>>());
    case DType::kC128:
      return f(std::type_identity<std::complex<double>>());
    case DType::kBool:
      return f(std::type_identity<Boolean>());
    case DType::kU64:
      return f(std::type_identity<uint64_t>());
    default:
      SPMD_UNREACHABLE("no products of {}", name_of(dtype));
  }
}

}  // namespace spmd::eval
