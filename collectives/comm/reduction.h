// Element types and reductions of collectives, and the one loop that combines two buffers.
#pragma once

#include <cstdint>

namespace spmd::comm {

// Of reduced elements; integers of 2 and 4 bits are stored one a byte.
enum class Element : uint8_t {
  kBool,
  kS4,
  kS8,
  kS16,
  kS32,
  kS64,
  kU4,
  kU8,
  kU16,
  kU32,
  kU64,
  kF8E4M3FN,
  kF8E5M2,
  kF16,
  kBF16,
  kF32,
  kF64,
  kC64,
  kC128,
  kS2,
  kU2,
  kF4E2M1FN,
  kF6E2M3FN,
  kF6E3M2FN,
  kF8E3M4,
  kF8E4M3,
  kF8E4M3B11FNUZ,
  kF8E4M3FNUZ,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
};

enum class Reduction : uint8_t { kSum, kProduct, kMin, kMax, kAnd, kOr };

int64_t byte_size(Element element);

// Whether `reduction` means something on `element`; kAnd and kOr are bitwise on integers; complex
// numbers compare lexicographically.
bool is_defined(Reduction reduction, Element element);

// out[i] = sources[0][i] op sources[1][i] op ... in that order, so that all communicators give the
// same bits. Floats of 16 bits and fewer are combined in float32 and rounded once. `out` may be
// one of the sources.
void reduce_in_order(Reduction reduction, Element element, const void* const* sources,
                     int64_t num_sources, int64_t count, void* out);

}  // namespace spmd::comm
