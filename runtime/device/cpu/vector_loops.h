// The loops that all elementwise work is made of: one scalar operation applied to short dense
// arrays ("tiles"), compiled once per instruction set and chosen when first used.
//
// This header is included where wider instructions are enabled, so it must define no inline
// functions and pull in no library that does: the linker might keep the wide copy for everyone.
#pragma once

#include <cstdint>

namespace spmd::cpu {

// The types in which elements are computed. Floats of 16 bits and fewer are computed as kF32 and
// rounded after each operation; integers of 2 and 4 bits as 8-bit ones, wrapped after each
// operation.
enum class Lane : uint8_t {
  kBool,  // one byte, 0 or 1
  kS8,
  kS16,
  kS32,
  kS64,
  kU8,
  kU16,
  kU32,
  kU64,
  kF32,
  kF64,
  kC64,
  kC128,
};
inline constexpr int kNumLanes = 13;

// X(enumerator, name in plan.proto); the numbers are plan.proto's.
#define SPMD_TILE_OPS(X)                           \
  X(kNop, NOP)                                     \
  X(kAbs, ABS)                                     \
  X(kAdd, ADD)                                     \
  X(kAnd, AND)                                     \
  X(kAtan2, ATAN2)                                 \
  X(kCbrt, CBRT)                                   \
  X(kCeil, CEIL)                                   \
  X(kClamp, CLAMP)                                 \
  X(kCompare, COMPARE)                             \
  X(kConvert, CONVERT)                             \
  X(kCosine, COSINE)                               \
  X(kCountLeadingZeros, COUNT_LEADING_ZEROS)       \
  X(kDivide, DIVIDE)                               \
  X(kErf, ERF)                                     \
  X(kExponential, EXPONENTIAL)                     \
  X(kExponentialMinusOne, EXPONENTIAL_MINUS_ONE)   \
  X(kFloor, FLOOR)                                 \
  X(kIsFinite, IS_FINITE)                          \
  X(kLog, LOG)                                     \
  X(kLogPlusOne, LOG_PLUS_ONE)                     \
  X(kLogistic, LOGISTIC)                           \
  X(kMaximum, MAXIMUM)                             \
  X(kMinimum, MINIMUM)                             \
  X(kMultiply, MULTIPLY)                           \
  X(kNegate, NEGATE)                               \
  X(kNot, NOT)                                     \
  X(kOr, OR)                                       \
  X(kPopulationCount, POPULATION_COUNT)            \
  X(kPower, POWER)                                 \
  X(kReducePrecision, REDUCE_PRECISION)            \
  X(kRemainder, REMAINDER)                         \
  X(kRoundNearestAfz, ROUND_NEAREST_AFZ)           \
  X(kRoundNearestEven, ROUND_NEAREST_EVEN)         \
  X(kRsqrt, RSQRT)                                 \
  X(kSelect, SELECT)                               \
  X(kShiftLeft, SHIFT_LEFT)                        \
  X(kShiftRightArithmetic, SHIFT_RIGHT_ARITHMETIC) \
  X(kShiftRightLogical, SHIFT_RIGHT_LOGICAL)       \
  X(kSign, SIGN)                                   \
  X(kSine, SINE)                                   \
  X(kSqrt, SQRT)                                   \
  X(kSubtract, SUBTRACT)                           \
  X(kTan, TAN)                                     \
  X(kTanh, TANH)                                   \
  X(kXor, XOR)                                     \
  X(kBitcastConvert, BITCAST_CONVERT)              \
  X(kIota, IOTA)                                   \
  X(kConstant, CONSTANT)

enum class TileOp : uint8_t {
#define SPMD_TILE_OP(name, plan_name) name,
  SPMD_TILE_OPS(SPMD_TILE_OP)
#undef SPMD_TILE_OP
};

// out[i] = op(args[0][i], args[1][i], ...) for i < n. `out` may be one of the arguments.
using TileLoop = void (*)(void* out, const void* const* args, int64_t n, int64_t immediate);

// Combines the n elements of a tile with *accumulator: lanes are combined in a fixed order that
// does not depend on the instruction set.
using TileReduction = void (*)(void* accumulator, const void* tile, int64_t n);

// Stored formats that are not lanes.
enum class Packed : uint8_t {
  kS4,
  kU4,
  kF16,
  kBF16,
  kS2,
  kU2,
  kF4E2M1FN,
  kF6E2M3FN,
  kF6E3M2FN,
  kF8E3M4,
  kF8E4M3,
  kF8E4M3B11FNUZ,
  kF8E4M3FN,
  kF8E4M3FNUZ,
  kF8E5M2,
  kF8E5M2FNUZ,
  kF8E8M0FNU,
};
inline constexpr int kNumPacked = 17;

struct LoopTable {
  const char* name;
  // The loop of `op` on operands of `lane`, or null when that means nothing. Comparisons and
  // IS_FINITE give kBool. SELECT: by the lane of the values.
  TileLoop (*find)(TileOp op, Lane lane);
  // `comparison` as numbered in plan.proto.
  TileLoop (*find_compare)(int comparison, Lane lane);
  TileLoop (*find_convert)(Lane from, Lane to);
  // Sum, product, minimum, maximum, and, or of a tile.
  TileReduction (*find_reduction)(TileOp op, Lane lane);
  TileLoop widen[kNumPacked];   // stored to lane (bf16 to kF32, ...)
  TileLoop narrow[kNumPacked];  // lane to stored, rounding or wrapping
  TileLoop round[kNumPacked];   // lane to lane: as narrow, then widen
  TileLoop iota[kNumLanes];     // out[i] = immediate + i; null for kBool
  // Strided copies of elements of 1, 2, 4, 8 and 16 bytes: index is log2 of the size.
  // out[i * out_stride] = in[i * in_stride], strides in elements.
  void (*copy[5])(void* out, int64_t out_stride, const void* in, int64_t in_stride, int64_t n);
  // Copies a matrix: out[r * out_stride + c] = in[r + c * in_stride], r < rows, c < columns.
  void (*transpose[5])(void* out, int64_t out_stride, const void* in, int64_t in_stride,
                       int64_t rows, int64_t columns);
};

// For this machine.
const LoopTable& loops();

}  // namespace spmd::cpu
