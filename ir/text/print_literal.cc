#include <charconv>
#include <cmath>

#include "ir/text/printer.h"
#include "support/error.h"

namespace spmd::text {
namespace {

// Constants with more elements are printed as bytes.
constexpr int64_t kMostListed = 64;

std::string hex(const std::byte* bytes, size_t count, bool reversed) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string text = "0x";
  text.reserve(2 + 2 * count);
  for (size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned>(bytes[reversed ? count - 1 - i : i]);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

// The shortest decimal that reads back as `value`, in the form that MLIR prints: six digits after
// the point where these are enough.
template <typename Float>
std::string decimal(Float value) {
  std::string text = fmt::format("{:.6e}", value);
  Float back{};
  std::from_chars(text.data(), text.data() + text.size(), back);
  if (back == value) return text;
  char buffer[64];
  const auto end =
      std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific);
  text.assign(buffer, end.ptr);
  // A float has a point.
  const size_t exponent = text.find('e');
  if (text.find('.') == std::string::npos) text.insert(exponent, ".0");
  return text;
}

// One element at `data` of a floating-point type.
std::string float_text(DType dtype, const std::byte* data) {
  const auto size = static_cast<size_t>(byte_size(dtype));
  const Literal element = Literal::splat({dtype, {}}, static_cast<const void*>(data));
  const double value = element.as_double(0);
  if (!std::isfinite(value)) return hex(data, size, /*reversed=*/true);
  if (dtype == DType::kF64) return decimal(value);
  return decimal(static_cast<float>(value));
}

std::string element_text(DType dtype, const std::byte* data) {
  switch (kind_of(dtype)) {
    case DTypeKind::kBoolean:
      return *data != std::byte{0} ? "true" : "false";
    case DTypeKind::kSigned:
      return std::to_string(Literal::splat({dtype, {}}, static_cast<const void*>(data)).as_int(0));
    case DTypeKind::kUnsigned: {
      const Literal element = Literal::splat({dtype, {}}, static_cast<const void*>(data));
      return std::to_string(static_cast<uint64_t>(element.as_int(0)));
    }
    case DTypeKind::kFloat:
      return float_text(dtype, data);
    case DTypeKind::kComplex: {
      const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
      return fmt::format("({},{})", float_text(part, data),
                         float_text(part, data + byte_size(part)));
    }
    case DTypeKind::kOpaque:
      break;
  }
  return "0";
}

void append_list(const Literal& literal, size_t dim, int64_t& next, std::string& out) {
  const TensorType& type = literal.type();
  if (dim == type.shape.size()) {
    out += element_text(type.dtype, literal.data() + next++ * byte_size(type.dtype));
    return;
  }
  out += "[";
  for (int64_t i = 0; i < type.shape[dim]; ++i) {
    if (i > 0) out += ", ";
    append_list(literal, dim + 1, next, out);
  }
  out += "]";
}

}  // namespace

std::string literal_text(const Literal& literal, bool elide_large) {
  const TensorType& type = literal.type();
  const int64_t count = type.num_elements();
  std::string out;
  if (literal.empty() || count == 0) {
    out = "dense<>";
  } else if (literal.is_splat()) {
    out = "dense<" + element_text(type.dtype, literal.data()) + ">";
  } else if (count > kMostListed) {
    out = elide_large ? "dense_resource<__elided__>"
                      : "dense<\"" + hex(literal.data(), literal.stored_bytes(), false) + "\">";
  } else {
    out = "dense<";
    int64_t next = 0;
    append_list(literal, 0, next, out);
    out += ">";
  }
  return out + " : " + to_string(type);
}

}  // namespace spmd::text
