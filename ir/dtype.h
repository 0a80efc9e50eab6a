// Element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spmd {

// X(enumerator, StableHLO spelling, storage bits, class); narrow floats as in float_formats.h.
// Sub-byte types are stored one element a byte; complex types as (re, im).
#define SPMD_DTYPES(X)                          \
  X(kBool, "i1", 8, kBoolean)                   \
  X(kS2, "i2", 8, kSigned)                      \
  X(kS4, "i4", 8, kSigned)                      \
  X(kS8, "i8", 8, kSigned)                      \
  X(kS16, "i16", 16, kSigned)                   \
  X(kS32, "i32", 32, kSigned)                   \
  X(kS64, "i64", 64, kSigned)                   \
  X(kU2, "ui2", 8, kUnsigned)                   \
  X(kU4, "ui4", 8, kUnsigned)                   \
  X(kU8, "ui8", 8, kUnsigned)                   \
  X(kU16, "ui16", 16, kUnsigned)                \
  X(kU32, "ui32", 32, kUnsigned)                \
  X(kU64, "ui64", 64, kUnsigned)                \
  X(kF4E2M1FN, "f4E2M1FN", 8, kFloat)           \
  X(kF6E2M3FN, "f6E2M3FN", 8, kFloat)           \
  X(kF6E3M2FN, "f6E3M2FN", 8, kFloat)           \
  X(kF8E3M4, "f8E3M4", 8, kFloat)               \
  X(kF8E4M3, "f8E4M3", 8, kFloat)               \
  X(kF8E4M3B11FNUZ, "f8E4M3B11FNUZ", 8, kFloat) \
  X(kF8E4M3FN, "f8E4M3FN", 8, kFloat)           \
  X(kF8E4M3FNUZ, "f8E4M3FNUZ", 8, kFloat)       \
  X(kF8E5M2, "f8E5M2", 8, kFloat)               \
  X(kF8E5M2FNUZ, "f8E5M2FNUZ", 8, kFloat)       \
  X(kF8E8M0FNU, "f8E8M0FNU", 8, kFloat)         \
  X(kF16, "f16", 16, kFloat)                    \
  X(kBF16, "bf16", 16, kFloat)                  \
  X(kF32, "f32", 32, kFloat)                    \
  X(kF64, "f64", 64, kFloat)                    \
  X(kC64, "complex<f32>", 64, kComplex)         \
  X(kC128, "complex<f64>", 128, kComplex)       \
  X(kToken, "token", 0, kOpaque)

enum class DType : uint8_t {
#define SPMD_DTYPE_ENUM(name, text, bits, kind) name,
  SPMD_DTYPES(SPMD_DTYPE_ENUM)
#undef SPMD_DTYPE_ENUM
};

enum class DTypeKind : uint8_t { kBoolean, kSigned, kUnsigned, kFloat, kComplex, kOpaque };

std::string_view name_of(DType dtype);
std::optional<DType> dtype_named(std::string_view name);
// Bytes of one stored element.
int64_t byte_size(DType dtype);
// Bits of an element as the program sees it: fewer than a byte for the types stored a byte each.
int bit_width(DType dtype);
DTypeKind kind_of(DType dtype);

inline bool is_float(DType d) { return kind_of(d) == DTypeKind::kFloat; }
inline bool is_signed_int(DType d) { return kind_of(d) == DTypeKind::kSigned; }
inline bool is_unsigned_int(DType d) { return kind_of(d) == DTypeKind::kUnsigned; }
inline bool is_integer(DType d) { return is_signed_int(d) || is_unsigned_int(d); }
// Stored a byte each, but of fewer bits.
inline bool is_sub_byte_int(DType d) {
  return d == DType::kS2 || d == DType::kS4 || d == DType::kU2 || d == DType::kU4;
}
inline bool is_complex(DType d) { return kind_of(d) == DTypeKind::kComplex; }

// The type in which sums of `dtype` accumulate: float32 for floats of 16 bits and fewer, else
// `dtype` itself.
DType accumulation_type(DType dtype);

}  // namespace spmd
