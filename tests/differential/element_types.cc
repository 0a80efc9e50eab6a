#include "tests/differential/element_types.h"

#include <algorithm>
#include <cmath>

namespace spmd::testing {

double largest_exact(DType dtype) {
  switch (dtype) {
    case DType::kF8E5M2:
      return 8;
    case DType::kF8E4M3FN:
      return 16;
    case DType::kBF16:
      return 256;
    case DType::kF16:
      return 2048;
    default:
      return 1 << 20;
  }
}

double largest_integer(DType dtype) {
  return std::ldexp(1.0, bit_width(dtype) - (is_signed_int(dtype) ? 1 : 0));
}

double low_end(DType dtype) {
  if (dtype == DType::kBool || is_unsigned_int(dtype)) return 0;
  if (is_integer(dtype)) return -std::min(4000.0, largest_integer(dtype));
  return -std::min(4000.0, largest_exact(dtype));
}

double high_end(DType dtype) {
  if (dtype == DType::kBool) return 1;
  if (is_integer(dtype)) return std::min(4000.0, largest_integer(dtype) - 1);
  return std::min(4000.0, largest_exact(dtype));
}

DType random_integer(Random& random) {
  return random.of(std::vector{DType::kS4, DType::kS8, DType::kS16, DType::kS64, DType::kU4,
                               DType::kU8, DType::kU16, DType::kU32, DType::kU64});
}

DType random_number(Random& random, bool narrow) {
  const int64_t kind = random.below(100);
  if (kind < 60) return DType::kF32;
  if (kind < 78) return DType::kS32;
  if (kind < 86) return random_integer(random);
  if (kind < 89) return DType::kF64;
  if (kind < 94) return DType::kBF16;
  if (kind < 97) return DType::kF16;
  if (!narrow) return DType::kF32;
  return random.chance(50) ? DType::kF8E4M3FN : DType::kF8E5M2;
}

}  // namespace spmd::testing
