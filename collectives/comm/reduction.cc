#include "collectives/comm/reduction.h"

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstring>
#include <type_traits>

#include "support/complex_functions.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::comm {
namespace {

// Elements are combined a tile at a time, in a type wide enough to accumulate in.
constexpr int64_t kTile = 512;

template <typename T>
struct Plain {
  using Stored = T;
  using Wide = T;
  static T widen(T value) { return value; }
  static T narrow(T value) { return value; }
};

template <typename Bits, float (*kToFloat)(Bits), Bits (*kFromFloat)(float)>
struct Narrow {
  using Stored = Bits;
  using Wide = float;
  static float widen(Bits value) { return kToFloat(value); }
  static Bits narrow(float value) { return kFromFloat(value); }
};

struct Boolean : Plain<uint8_t> {
  static uint8_t widen(uint8_t value) { return value != 0; }
};
template <int kWidth>
struct SignedBits : Plain<int8_t> {
  static int8_t narrow(int8_t value) {
    constexpr int kUnused = 8 - kWidth;
    return static_cast<int8_t>(static_cast<int8_t>(static_cast<uint8_t>(value) << kUnused) >>
                               kUnused);
  }
};
template <int kWidth>
struct UnsignedBits : Plain<uint8_t> {
  static uint8_t narrow(uint8_t value) { return value & ((1 << kWidth) - 1); }
};

struct Sum {
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      using U = std::make_unsigned_t<T>;
      return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
    } else {
      return a + b;
    }
  }
};
struct Product {
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (std::is_integral_v<T>) {
      return static_cast<T>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    } else {
      return a * b;
    }
  }
};
template <typename T>
constexpr bool kIsComplex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;

// As stablehlo.minimum and maximum, which are those of IEEE 754-2019 (9.6): NaN wins, and -0 is
// less than +0. Complex numbers compare lexicographically.
struct Min {
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (kIsComplex<T>) {
      return complex_functions::less(a, b) ? a : b;
    } else {
      if constexpr (std::is_floating_point_v<T>) {
        if (a == b) return std::signbit(a) ? a : b;
      }
      return a != a || a < b ? a : b;
    }
  }
};
struct Max {
  template <typename T>
  static T combine(T a, T b) {
    if constexpr (kIsComplex<T>) {
      return complex_functions::less(a, b) ? b : a;
    } else {
      if constexpr (std::is_floating_point_v<T>) {
        if (a == b) return std::signbit(a) ? b : a;
      }
      return a != a || a > b ? a : b;
    }
  }
};
struct And {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct Or {
  template <typename T>
  static T combine(T a, T b) {
    return static_cast<T>(a | b);
  }
};

template <typename Format, typename Op>
void reduce(const void* const* sources, int64_t num_sources, int64_t count, void* out) {
  using Wide = typename Format::Wide;
  Wide tile[kTile];
  for (int64_t begin = 0; begin < count; begin += kTile) {
    const int64_t n = std::min(kTile, count - begin);
    const auto source = [&](int64_t i) {
      return static_cast<const typename Format::Stored*>(sources[i]) + begin;
    };
    for (int64_t i = 0; i < n; ++i) tile[i] = Format::widen(source(0)[i]);
    for (int64_t s = 1; s < num_sources; ++s) {
      const auto* from = source(s);
      for (int64_t i = 0; i < n; ++i) tile[i] = Op::combine(tile[i], Format::widen(from[i]));
    }
    auto* to = static_cast<typename Format::Stored*>(out) + begin;
    for (int64_t i = 0; i < n; ++i) to[i] = Format::narrow(tile[i]);
  }
}

using Loop = void (*)(const void* const*, int64_t, int64_t, void*);

template <typename Format>
Loop loop_for(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
      return reduce<Format, Sum>;
    case Reduction::kProduct:
      return reduce<Format, Product>;
    case Reduction::kMin:
      return reduce<Format, Min>;
    case Reduction::kMax:
      return reduce<Format, Max>;
    default:
      break;
  }
  if constexpr (std::is_integral_v<typename Format::Wide>) {
    if (reduction == Reduction::kAnd) return reduce<Format, And>;
    if (reduction == Reduction::kOr) return reduce<Format, Or>;
  }
  return nullptr;
}

Loop boolean_loop(Reduction reduction) {
  switch (reduction) {
    case Reduction::kSum:
    case Reduction::kMax:
    case Reduction::kOr:
      return reduce<Boolean, Or>;
    default:
      return reduce<Boolean, And>;
  }
}

Loop find_loop(Reduction reduction, Element element) {
  switch (element) {
    case Element::kBool:
      return boolean_loop(reduction);
    case Element::kS2:
      return loop_for<SignedBits<2>>(reduction);
    case Element::kS4:
      return loop_for<SignedBits<4>>(reduction);
    case Element::kS8:
      return loop_for<Plain<int8_t>>(reduction);
    case Element::kS16:
      return loop_for<Plain<int16_t>>(reduction);
    case Element::kS32:
      return loop_for<Plain<int32_t>>(reduction);
    case Element::kS64:
      return loop_for<Plain<int64_t>>(reduction);
    case Element::kU2:
      return loop_for<UnsignedBits<2>>(reduction);
    case Element::kU4:
      return loop_for<UnsignedBits<4>>(reduction);
    case Element::kU8:
      return loop_for<Plain<uint8_t>>(reduction);
    case Element::kU16:
      return loop_for<Plain<uint16_t>>(reduction);
    case Element::kU32:
      return loop_for<Plain<uint32_t>>(reduction);
    case Element::kU64:
      return loop_for<Plain<uint64_t>>(reduction);
#define SPMD_LOOP(Type, name) \
  case Element::k##Type:      \
    return loop_for<Narrow<uint8_t, name##_to_float, float_to_##name>>(reduction);
      SPMD_BYTE_FLOATS(SPMD_LOOP)
#undef SPMD_LOOP
    case Element::kF16:
      return loop_for<Narrow<uint16_t, f16_to_float, float_to_f16>>(reduction);
    case Element::kBF16:
      return loop_for<Narrow<uint16_t, bf16_to_float, float_to_bf16>>(reduction);
    case Element::kF32:
      return loop_for<Plain<float>>(reduction);
    case Element::kF64:
      return loop_for<Plain<double>>(reduction);
    case Element::kC64:
      return loop_for<Plain<std::complex<float>>>(reduction);
    case Element::kC128:
      return loop_for<Plain<std::complex<double>>>(reduction);
  }
  return nullptr;
}

}  // namespace

int64_t byte_size(Element element) {
  switch (element) {
    case Element::kBool:
    case Element::kS4:
    case Element::kS8:
    case Element::kU4:
    case Element::kU8:
    case Element::kS2:
    case Element::kU2:
#define SPMD_CASE(Type, name) case Element::k##Type:
      SPMD_BYTE_FLOATS(SPMD_CASE)
#undef SPMD_CASE
      return 1;
    case Element::kS16:
    case Element::kU16:
    case Element::kF16:
    case Element::kBF16:
      return 2;
    case Element::kS32:
    case Element::kU32:
    case Element::kF32:
      return 4;
    case Element::kS64:
    case Element::kU64:
    case Element::kF64:
    case Element::kC64:
      return 8;
    case Element::kC128:
      return 16;
  }
  return 0;
}

bool is_defined(Reduction reduction, Element element) {
  return find_loop(reduction, element) != nullptr;
}

void reduce_in_order(Reduction reduction, Element element, const void* const* sources,
                     int64_t num_sources, int64_t count, void* out) {
  const Loop loop = find_loop(reduction, element);
  SPMD_CHECK(loop != nullptr, "reduction {} of elements {}", static_cast<int>(reduction),
             static_cast<int>(element));
  loop(sources, num_sources, count, out);
}

}  // namespace spmd::comm
