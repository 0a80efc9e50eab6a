#include "ir/text/elements.h"

#include <charconv>
#include <limits>

#include "ir/literal.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::text {
namespace {

class ElementScanner {
 public:
  ElementScanner(Scanner& scan, std::vector<std::byte>& elements)
      : scan_(scan), elements_(elements) {}

  void element(DType dtype) {
    switch (kind_of(dtype)) {
      case DTypeKind::kBoolean:
        return boolean();
      case DTypeKind::kSigned:
        return signed_integer(dtype);
      case DTypeKind::kUnsigned:
        return unsigned_integer(dtype);
      case DTypeKind::kFloat:
        return floating(dtype);
      case DTypeKind::kComplex:
        return complex(dtype);
      case DTypeKind::kOpaque:
        break;
    }
    scan_.fail_expected("no elements of this type");
  }

 private:
  void put(const void* value, DType dtype) {
    const auto* from = static_cast<const std::byte*>(value);
    elements_.insert(elements_.end(), from, from + byte_size(dtype));
  }

  template <typename T>
  T number(std::string_view digits, size_t start, const char* what, int base = 10) {
    T value{};
    const char* end = digits.data() + digits.size();
    const auto [stop, error] = std::from_chars(digits.data(), end, value, base);
    if (error != std::errc() || stop != end) bad(start, what);
    return value;
  }

  [[noreturn]] void bad(size_t start, std::string_view expected) {
    scan_.seek(start);
    scan_.fail_expected(expected);
  }

  void boolean() {
    uint8_t value = 1;
    if (!scan_.accept_word("true") && !scan_.accept_word("1")) {
      value = 0;
      if (!scan_.accept_word("false") && !scan_.accept_word("0")) {
        scan_.fail_expected("true or false");
      }
    }
    put(&value, DType::kBool);
  }

  void signed_integer(DType dtype) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string_view token = scan_.expect_number();
    const int bits = bit_width(dtype);
    int64_t value = 0;
    if (token.starts_with("0x")) {
      const auto pattern = number<uint64_t>(token.substr(2), start, "an integer", 16);
      if (bits < 64 && pattern >> bits != 0) bad(start, fmt::format("at most {} bits", bits));
      value = static_cast<int64_t>(pattern << (64 - bits)) >> (64 - bits);
    } else {
      value = number<int64_t>(token, start, "an integer");
    }
    const int64_t most =
        bits == 64 ? std::numeric_limits<int64_t>::max() : (int64_t{1} << (bits - 1)) - 1;
    if (value > most || value < -most - 1) bad(start, fmt::format("an integer of {} bits", bits));
    put(&value, dtype);  // little-endian: the low bytes come first
  }

  void unsigned_integer(DType dtype) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string_view token = scan_.expect_number();
    const int bits = bit_width(dtype);
    const bool hexadecimal = token.starts_with("0x");
    const auto value = number<uint64_t>(token.substr(hexadecimal ? 2 : 0), start,
                                        "an integer of 0 or more", hexadecimal ? 16 : 10);
    if (bits < 64 && value >> bits != 0) {
      bad(start, fmt::format("an unsigned integer of {} bits", bits));
    }
    put(&value, dtype);
  }

  void floating(DType dtype) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string_view token = scan_.expect_number();
    if (token.starts_with("0x")) {
      const auto bits = number<uint64_t>(token.substr(2), start, "a bit pattern", 16);
      const int width = bit_width(dtype);
      if (width < 64 && bits >> width != 0) {
        bad(start, fmt::format("a bit pattern of {} bits", width));
      }
      return put(&bits, dtype);
    }
    const char* begin = token.data() + (token.starts_with('+') ? 1 : 0);
    const char* end = token.data() + token.size();
    const auto check = [&](std::from_chars_result result) {
      // What is too small or large for the type is rounded, not refused.
      const bool rounded = result.ec == std::errc::result_out_of_range;
      if ((result.ec != std::errc() && !rounded) || result.ptr != end) bad(start, "a number");
      return rounded;
    };
    if (dtype == DType::kF32) {
      float value = 0;
      if (check(std::from_chars(begin, end, value))) value = static_cast<float>(wide(token));
      return put(&value, dtype);
    }
    double value = 0;
    if (check(std::from_chars(begin, end, value))) value = wide(token);
    if (dtype == DType::kF64) return put(&value, dtype);
    const Literal rounded = Literal::splat({dtype, {}}, double_to_float_odd(value));
    put(rounded.data(), dtype);
  }

  // Reads a number that underflows or overflows.
  static double wide(std::string_view token) {
    return std::strtod(std::string(token).c_str(), nullptr);
  }

  void complex(DType dtype) {
    const DType part = dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    scan_.expect("(");
    floating(part);
    scan_.expect(",");
    floating(part);
    scan_.expect(")");
  }

  Scanner& scan_;
  std::vector<std::byte>& elements_;
};

}  // namespace

void scan_element(Scanner& scan, DType dtype, std::vector<std::byte>& elements) {
  ElementScanner(scan, elements).element(dtype);
}

namespace {

// Elements in their stored form: MLIR leaves what is above the bits of a narrow integer to chance.
void normalise(DType dtype, std::vector<std::byte>& elements) {
  const int spare = 8 - bit_width(dtype);
  if (dtype == DType::kBool) {
    for (std::byte& element : elements) element = std::byte{element != std::byte{0}};
  } else if (is_integer(dtype) && spare > 0) {
    for (std::byte& element : elements) {
      const auto high = static_cast<uint8_t>(static_cast<uint8_t>(element) << spare);
      element = is_signed_int(dtype) ? static_cast<std::byte>(static_cast<int8_t>(high) >> spare)
                                     : static_cast<std::byte>(high >> spare);
    }
  }
}

}  // namespace

std::optional<Literal> literal_from_bytes(const TensorType& type, std::string_view bytes) {
  const auto count = static_cast<size_t>(type.num_elements());
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  std::vector<std::byte> elements;
  if (type.dtype == DType::kBool && bytes.size() != count && bytes.size() == (count + 7) / 8) {
    const bool splat = bytes.size() == 1 && (bytes[0] == '\xFF' || bytes[0] == '\0');
    elements.resize(count);
    for (size_t i = 0; i < count; ++i) {
      const auto byte = static_cast<unsigned char>(bytes[i / 8]);
      elements[i] = static_cast<std::byte>(splat ? byte & 1 : byte >> (i % 8) & 1);
    }
    return Literal(type, std::move(elements));
  }
  if (bytes.size() != count * size && (bytes.size() != size || size == 0)) return std::nullopt;
  const auto* from = reinterpret_cast<const std::byte*>(bytes.data());
  elements.assign(from, from + bytes.size());
  normalise(type.dtype, elements);
  if (elements.size() != size || size == 0) return Literal(type, std::move(elements));
  return Literal::splat(type, static_cast<const void*>(elements.data()));
}

}  // namespace spmd::text
