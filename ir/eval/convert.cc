// Conversion between element types, in chunks through the widest type of each kind: int64, uint64,
// double (which holds every narrower float exactly) or complex<double>.
#include <algorithm>
#include <cmath>
#include <limits>

#include "ir/eval/elements.h"
#include "support/float_formats.h"

namespace spmd::eval {
namespace {

constexpr int64_t kChunk = 512;

template <typename To, typename From, typename F>
void map(const std::byte* from, To* to, int64_t count, F&& f) {
  const From* source = reinterpret_cast<const From*>(from);
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<To>(f(source[i]));
}

void load(DType dtype, const std::byte* from, double* to, int64_t count) {
  switch (dtype) {
#define SPMD_LOAD(Type, name) \
  case DType::k##Type:        \
    return map<double, uint8_t>(from, to, count, name##_to_float);
    SPMD_BYTE_FLOATS(SPMD_LOAD)
#undef SPMD_LOAD
    case DType::kF16:
      return map<double, uint16_t>(from, to, count, f16_to_float);
    case DType::kBF16:
      return map<double, uint16_t>(from, to, count, bf16_to_float);
    case DType::kF32:
      return map<double, float>(from, to, count, [](float x) { return x; });
    default:
      return map<double, double>(from, to, count, [](double x) { return x; });
  }
}

template <typename Wide>
void load_integers(DType dtype, const std::byte* from, Wide* to, int64_t count) {
  with_type(dtype, [&]<typename T>(std::type_identity<T>) {
    if constexpr (std::is_integral_v<T>) {
      map<Wide, T>(from, to, count, [](T x) { return x; });
    }
  });
  if (dtype == DType::kBool) {
    for (int64_t i = 0; i < count; ++i) to[i] = to[i] != 0;
  }
}

void load(DType dtype, const std::byte* from, int64_t* to, int64_t count) {
  load_integers(dtype, from, to, count);
}
void load(DType dtype, const std::byte* from, uint64_t* to, int64_t count) {
  load_integers(dtype, from, to, count);
}
void load(DType dtype, const std::byte* from, std::complex<double>* to, int64_t count) {
  using Wide = std::complex<double>;
  if (dtype == DType::kC64) {
    map<Wide, std::complex<float>>(from, to, count, [](std::complex<float> x) { return Wide(x); });
  } else {
    map<Wide, Wide>(from, to, count, [](Wide x) { return x; });
  }
}

template <typename T>
double real_part(T value) {
  return static_cast<double>(value);
}
double real_part(std::complex<double> value) { return value.real(); }

// To an integer of `width` bits.
template <typename To, typename From>
To to_integer(From value, DType dtype) {
  if constexpr (std::is_integral_v<From>) {
    return wrap_to(dtype, static_cast<To>(value));
  } else {
    const double real = real_part(value);
    const int width = bit_width(dtype);
    const double upper = std::ldexp(1.0, std::is_signed_v<To> ? width - 1 : width);
    const double lower = std::is_signed_v<To> ? -upper : 0.0;
    if (std::isnan(real)) return 0;
    if (real <= lower) return static_cast<To>(lower);
    if (real >= upper) {
      return is_sub_byte_int(dtype) ? static_cast<To>(upper - 1) : std::numeric_limits<To>::max();
    }
    return static_cast<To>(real);
  }
}

template <typename From, typename F>
void store_narrow_float(const From* from, std::byte* to, int64_t count, F&& round) {
  auto* target = reinterpret_cast<std::invoke_result_t<F, float>*>(to);
  for (int64_t i = 0; i < count; ++i) target[i] = round(double_to_float_odd(real_part(from[i])));
}

template <typename To, typename From>
To to_number(From value, DType dtype) {
  if constexpr (is_complex_v<To>) {
    if constexpr (is_complex_v<From>)
      return To(value);
    else
      return To(static_cast<typename To::value_type>(value), 0);
  } else if constexpr (std::is_floating_point_v<To>) {
    if constexpr (is_complex_v<From>)
      return static_cast<To>(value.real());
    else
      return static_cast<To>(value);
  } else {
    return to_integer<To>(value, dtype);
  }
}

template <typename From>
void store(DType dtype, const From* from, std::byte* to, int64_t count) {
  switch (dtype) {
    case DType::kBool: {
      auto* target = reinterpret_cast<uint8_t*>(to);
      for (int64_t i = 0; i < count; ++i) target[i] = from[i] != From(0);
      return;
    }
#define SPMD_STORE(Type, name) \
  case DType::k##Type:         \
    return store_narrow_float(from, to, count, float_to_##name);
      SPMD_BYTE_FLOATS(SPMD_STORE)
#undef SPMD_STORE
    case DType::kF16:
      return store_narrow_float(from, to, count, float_to_f16);
    case DType::kBF16:
      return store_narrow_float(from, to, count, float_to_bf16);
    default:
      with_type(dtype, [&]<typename To>(std::type_identity<To>) {
        To* target = reinterpret_cast<To*>(to);
        for (int64_t i = 0; i < count; ++i) target[i] = to_number<To>(from[i], dtype);
      });
  }
}

template <typename Wide>
void convert_through(DType from_type, const std::byte* from, DType to_type, std::byte* to,
                     int64_t count) {
  Wide chunk[kChunk];
  for (int64_t at = 0; at < count; at += kChunk) {
    const int64_t size = std::min(kChunk, count - at);
    load(from_type, from + at * byte_size(from_type), chunk, size);
    store(to_type, chunk, to + at * byte_size(to_type), size);
  }
}

// The pairs that programs in mixed precision are full of.
bool convert_directly(DType from_type, const std::byte* from, DType to_type, std::byte* to,
                      int64_t count) {
  if (from_type == DType::kBF16 && to_type == DType::kF32) {
    map<float, uint16_t>(from, reinterpret_cast<float*>(to), count, bf16_to_float);
    return true;
  }
  if (from_type == DType::kF32 && to_type == DType::kBF16) {
    map<uint16_t, float>(from, reinterpret_cast<uint16_t*>(to), count, float_to_bf16);
    return true;
  }
  return false;
}

}  // namespace

Literal convert(const Literal& literal, DType dtype) {
  const DType from_type = literal.type().dtype;
  if (from_type == dtype) return literal;
  Output output(literal.type().with_dtype(dtype), literal.is_splat());
  const int64_t count = output.size();
  const std::byte* from = literal.data();
  std::byte* to = output.as<std::byte>();
  if (convert_directly(from_type, from, dtype, to, count)) return output.take();
  switch (kind_of(from_type)) {
    case DTypeKind::kBoolean:
    case DTypeKind::kSigned:
      convert_through<int64_t>(from_type, from, dtype, to, count);
      break;
    case DTypeKind::kUnsigned:
      convert_through<uint64_t>(from_type, from, dtype, to, count);
      break;
    case DTypeKind::kFloat:
      convert_through<double>(from_type, from, dtype, to, count);
      break;
    case DTypeKind::kComplex:
      convert_through<std::complex<double>>(from_type, from, dtype, to, count);
      break;
    case DTypeKind::kOpaque:
      break;
  }
  return output.take();
}

int64_t index_element(const Literal& literal, int64_t flat_index) {
  constexpr int64_t kLimit = int64_t{1} << 62;
  const int64_t value = literal.as_int(flat_index);
  if (literal.type().dtype == DType::kU64 && value < 0) return kLimit;
  return std::clamp(value, -kLimit, kLimit);
}

}  // namespace spmd::eval
