#include "runtime/device/cpu/sub_byte_loops.h"

#include <algorithm>
#include <bit>
#include <complex>
#include <type_traits>

namespace spmd::cpu {
namespace {

// Elements of kWidth bits, held in T with their sign extended.
template <typename T, int kWidth>
struct SubByte {
  static constexpr unsigned kMask = (1U << kWidth) - 1;

  static unsigned bits(T value) { return static_cast<unsigned>(value) & kMask; }

  static T element(unsigned bits) {
    const unsigned low = bits & kMask;
    if constexpr (std::is_signed_v<T>) {
      return static_cast<T>(static_cast<int>(low << (32 - kWidth)) >> (32 - kWidth));
    } else {
      return static_cast<T>(low);
    }
  }

  static T leading_zeros(T value) {
    return element(static_cast<unsigned>(std::countl_zero(bits(value)) - (32 - kWidth)));
  }
  static T population(T value) {
    return element(static_cast<unsigned>(std::popcount(bits(value))));
  }

  // Distances are read as unsigned; all bits leave from kWidth on.
  static T left(T value, T distance) {
    return bits(distance) >= kWidth ? T(0) : element(bits(value) << bits(distance));
  }
  static T right_logical(T value, T distance) {
    return bits(distance) >= kWidth ? T(0) : element(bits(value) >> bits(distance));
  }
  // Repeats the highest of the kWidth bits, also of unsigned elements.
  static T right_arithmetic(T value, T distance) {
    const int extended = static_cast<int>(bits(value) << (32 - kWidth)) >> (32 - kWidth);
    const unsigned by = bits(distance) >= kWidth ? kWidth - 1 : bits(distance);
    return element(static_cast<unsigned>(extended >> by));
  }
};

template <typename T, T (*kFunction)(T)>
void sub_byte_loop(void* out, const void* const* args, int64_t n, int64_t) {
  T* o = static_cast<T*>(out);
  const T* a = static_cast<const T*>(args[0]);
  for (int64_t i = 0; i < n; ++i) o[i] = kFunction(a[i]);
}

template <typename T, T (*kFunction)(T, T)>
void sub_byte_loop(void* out, const void* const* args, int64_t n, int64_t) {
  T* o = static_cast<T*>(out);
  const T* a = static_cast<const T*>(args[0]);
  const T* b = static_cast<const T*>(args[1]);
  for (int64_t i = 0; i < n; ++i) o[i] = kFunction(a[i], b[i]);
}

template <typename T, int kWidth>
TileLoop find_of_width(plan::ScalarOp op) {
  using Elements = SubByte<T, kWidth>;
  switch (op) {
    case plan::COUNT_LEADING_ZEROS:
      return sub_byte_loop<T, Elements::leading_zeros>;
    case plan::POPULATION_COUNT:
      return sub_byte_loop<T, Elements::population>;
    case plan::SHIFT_LEFT:
      return sub_byte_loop<T, Elements::left>;
    case plan::SHIFT_RIGHT_ARITHMETIC:
      return sub_byte_loop<T, Elements::right_arithmetic>;
    case plan::SHIFT_RIGHT_LOGICAL:
      return sub_byte_loop<T, Elements::right_logical>;
    default:
      return nullptr;
  }
}

template <typename T, int kWidth, typename From>
void saturate(void* out, const void* const* args, int64_t n, int64_t) {
  constexpr int kHigh = (1 << (std::is_signed_v<T> ? kWidth - 1 : kWidth)) - 1;
  constexpr int kLow = std::is_signed_v<T> ? -kHigh - 1 : 0;
  T* o = static_cast<T*>(out);
  const From* a = static_cast<const From*>(args[0]);
  for (int64_t i = 0; i < n; ++i) {
    const auto x = std::real(a[i]);
    o[i] = x != x ? T(0) : static_cast<T>(std::clamp<decltype(x)>(x, kLow, kHigh));
  }
}

template <typename T, int kWidth>
TileLoop find_saturate(Lane from) {
  switch (from) {
    case Lane::kF32:
      return saturate<T, kWidth, float>;
    case Lane::kF64:
      return saturate<T, kWidth, double>;
    case Lane::kC64:
      return saturate<T, kWidth, std::complex<float>>;
    case Lane::kC128:
      return saturate<T, kWidth, std::complex<double>>;
    default:
      return nullptr;
  }
}

}  // namespace

TileLoop find_sub_byte_convert(Lane from, plan::DType dtype) {
  switch (dtype) {
    case plan::S2:
      return find_saturate<int8_t, 2>(from);
    case plan::S4:
      return find_saturate<int8_t, 4>(from);
    case plan::U2:
      return find_saturate<uint8_t, 2>(from);
    case plan::U4:
      return find_saturate<uint8_t, 4>(from);
    default:
      return nullptr;
  }
}

TileLoop find_sub_byte_loop(plan::ScalarOp op, plan::DType dtype) {
  switch (dtype) {
    case plan::S2:
      return find_of_width<int8_t, 2>(op);
    case plan::S4:
      return find_of_width<int8_t, 4>(op);
    case plan::U2:
      return find_of_width<uint8_t, 2>(op);
    case plan::U4:
      return find_of_width<uint8_t, 4>(op);
    default:
      return nullptr;
  }
}

}  // namespace spmd::cpu
