// What the runtime knows of the Plan's element types.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "runtime/plan/plan.pb.h"

namespace spmd::plan {

// Bytes of one stored element; integers of 2 and 4 bits are stored one a byte, complex numbers as
// (re, im). 0 for INVALID and for numbers that are no DType.
int64_t byte_size(DType dtype);

// "f32", as in messages.
std::string_view dtype_name(DType dtype);

// The element types of floats that are computed in float32 and rounded to their own type.
bool is_narrow_float(DType dtype);
inline bool is_float(DType dtype) { return is_narrow_float(dtype) || dtype == F32 || dtype == F64; }
inline bool is_complex(DType dtype) { return dtype == C64 || dtype == C128; }
inline bool is_signed_int(DType dtype) { return (dtype >= S4 && dtype <= S64) || dtype == S2; }
inline bool is_unsigned_int(DType dtype) { return (dtype >= U4 && dtype <= U64) || dtype == U2; }
// Stored a byte each, but of fewer bits.
inline bool is_sub_byte_int(DType dtype) {
  return dtype == S2 || dtype == S4 || dtype == U2 || dtype == U4;
}
inline bool is_integer(DType dtype) { return is_signed_int(dtype) || is_unsigned_int(dtype); }

}  // namespace spmd::plan
