// Typed access to the elements of literals.
#pragma once

#include <complex>
#include <cstdint>
#include <type_traits>

#include "ir/literal.h"
#include "support/error.h"

namespace spmd::eval {

// The elements of a literal by flat index; a splat or single element repeats for ever.
template <typename T>
struct Elements {
  explicit Elements(const Literal& literal)
      : data(literal.as<T>()),
        step(literal.is_splat() || literal.type().num_elements() == 1 ? 0 : 1) {}
  T operator[](int64_t index) const { return data[index * step]; }

  const T* data;
  int64_t step;
};

// Calls f(std::type_identity<T>) with the C++ type in which elements of `dtype` are stored;
// booleans as uint8_t. Floats of 16 bits and fewer have none: widen() them first.
template <typename F>
auto with_type(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kS2:
    case DType::kS4:
    case DType::kS8:
      return f(std::type_identity<int8_t>());
    case DType::kS16:
      return f(std::type_identity<int16_t>());
    case DType::kS32:
      return f(std::type_identity<int32_t>());
    case DType::kS64:
      return f(std::type_identity<int64_t>());
    case DType::kBool:
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
      return f(std::type_identity<uint8_t>());
    case DType::kU16:
      return f(std::type_identity<uint16_t>());
    case DType::kU32:
      return f(std::type_identity<uint32_t>());
    case DType::kU64:
      return f(std::type_identity<uint64_t>());
    case DType::kF32:
      return f(std::type_identity<float>());
    case DType::kF64:
      return f(std::type_identity<double>());
    case DType::kC64:
      return f(std::type_identity<std::complex<float>>());
    case DType::kC128:
      return f(std::type_identity<std::complex<double>>());
    default:  // narrow floats, tokens
      break;
  }
  SPMD_UNREACHABLE("no arithmetic on {}", name_of(dtype));
}

template <typename T>
inline constexpr bool is_complex_v = false;
template <typename T>
inline constexpr bool is_complex_v<std::complex<T>> = true;

// Wraps an integer computed in a byte to the fewer bits of its type; identity for other types.
template <typename T>
T wrap_to(DType dtype, T value) {
  if (!is_sub_byte_int(dtype)) return value;
  const int unused = 8 - bit_width(dtype);
  if (is_unsigned_int(dtype)) return static_cast<T>(static_cast<int>(value) & (0xff >> unused));
  return static_cast<T>(static_cast<int8_t>(static_cast<int>(value) << unused) >> unused);
}
inline float wrap_to(DType, float value) { return value; }
inline double wrap_to(DType, double value) { return value; }
inline std::complex<float> wrap_to(DType, std::complex<float> value) { return value; }
inline std::complex<double> wrap_to(DType, std::complex<double> value) { return value; }

// A result under construction: one element when every input is a splat, else all.
class Output {
 public:
  Output(TensorType type, bool splat) : type_(std::move(type)), splat_(splat) {
    if (!splat_) literal_ = Literal(type_);
  }
  int64_t size() const { return splat_ ? 1 : type_.num_elements(); }
  template <typename T>
  T* as() {
    return splat_ ? reinterpret_cast<T*>(element_) : literal_.mutable_as<T>();
  }
  Literal take() {
    return splat_ ? Literal::splat(std::move(type_), static_cast<const void*>(element_))
                  : std::move(literal_);
  }

 private:
  TensorType type_;
  bool splat_;
  Literal literal_;
  alignas(16) std::byte element_[16] = {};
};

// The value in another element type: rounded to nearest even, integers wrapped, floats truncated to
// integers and saturated (NaN becomes 0), booleans by comparison with zero.
Literal convert(const Literal& literal, DType dtype);

// Floats of 16 bits and fewer as float32; other types as they are.
inline Literal widen(const Literal& literal) {
  return convert(literal, accumulation_type(literal.type().dtype));
}

// An element of an index operand, saturated at plus and minus 2^62 so that sums cannot overflow.
int64_t index_element(const Literal& literal, int64_t flat_index);

}  // namespace spmd::eval
