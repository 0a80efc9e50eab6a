#include <charconv>
#include <limits>

#include "ir/text/parser.h"
#include "support/error.h"
#include "support/float_formats.h"

namespace spmd::text {
namespace {

// Appends elements in their stored form.
class ElementParser {
 public:
  ElementParser(Scanner& scan, const TensorType& type)
      : scan_(scan), type_(type), width_(static_cast<size_t>(byte_size(type.dtype))) {}

  // One element, or nested lists of the type's shape.
  void parse(size_t dim) {
    if (dim == type_.shape.size()) return element(type_.dtype);
    scan_.expect("[");
    for (int64_t i = 0; i < type_.shape[dim]; ++i) {
      if (i > 0) scan_.expect(",");
      parse(dim + 1);
    }
    if (!scan_.peek("]")) {
      scan_.fail_expected(
          fmt::format("']' after {} elements of {}", type_.shape[dim], to_string(type_)));
    }
    scan_.expect("]");
  }

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

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put(const void* value, size_t size) {
    const auto* from = static_cast<const std::byte*>(value);
    bytes_.insert(bytes_.end(), from, from + size);
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
    put(&value, 1);
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
    put(&value, width_);  // little-endian: the low bytes come first
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
    put(&value, width_);
  }

  void floating(DType dtype) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const std::string_view token = scan_.expect_number();
    const auto size = static_cast<size_t>(byte_size(dtype));
    if (token.starts_with("0x")) {
      const auto bits = number<uint64_t>(token.substr(2), start, "a bit pattern", 16);
      const int width = bit_width(dtype);
      if (width < 64 && bits >> width != 0) {
        bad(start, fmt::format("a bit pattern of {} bits", width));
      }
      return put(&bits, size);
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
      return put(&value, size);
    }
    double value = 0;
    if (check(std::from_chars(begin, end, value))) value = wide(token);
    if (dtype == DType::kF64) return put(&value, size);
    const Literal rounded = Literal::splat({dtype, {}}, double_to_float_odd(value));
    put(rounded.data(), size);
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
  const TensorType& type_;
  size_t width_;
  std::vector<std::byte> bytes_;
};

Literal make_splat(const TensorType& type, const std::vector<std::byte>& element) {
  return Literal::splat(type, static_cast<const void*>(element.data()));
}

}  // namespace

// After "dense": `<elements> : type`. The elements can only be understood with the type, so the
// type is read first.
Literal Parser::parse_dense() {
  scan_.expect("<");
  scan_.skip_blanks();
  const size_t begin = scan_.position();
  if (scan_.peek_string()) {
    scan_.expect_raw_string();
  } else {
    const size_t end = text_.find('>', begin);
    if (end == std::string_view::npos) scan_.fail(begin, "these elements have no end");
    scan_.seek(end);
  }
  const size_t close = scan_.position();
  scan_.expect(">");
  scan_.expect(":");
  const TensorType type = parse_type();
  const size_t after = scan_.position();
  for (int64_t size : type.shape) {
    if (size < 0) scan_.fail(close, "a constant must have a known shape");
  }
  scan_.seek(begin);
  Literal literal;
  if (scan_.peek_string()) {
    const std::string_view digits = scan_.expect_raw_string();
    literal = literal_from_bytes(type, hex_bytes(digits, begin), begin);
  } else if (scan_.peek(">")) {
    if (type.num_elements() != 0)
      scan_.fail_expected(fmt::format("elements of {}", to_string(type)));
    literal = Literal(type, {});
  } else {
    ElementParser elements(scan_, type);
    const bool splat = !scan_.peek("[");
    elements.parse(splat ? type.shape.size() : 0);
    literal = splat ? make_splat(type, elements.take()) : Literal(type, elements.take());
  }
  if (scan_.position() != close) {
    scan_.skip_blanks();
    if (scan_.position() != close) scan_.fail_expected("'>'");
  }
  scan_.seek(after);
  return literal;
}

// The bytes of "0x3F80...".
std::string Parser::hex_bytes(std::string_view digits, size_t position) {
  if (!digits.starts_with("0x")) scan_.fail(position, "expected a string that begins with 0x");
  digits.remove_prefix(2);
  if (digits.size() % 2 != 0) scan_.fail(position, "an odd number of hexadecimal digits");
  std::string bytes(digits.size() / 2, '\0');
  const auto value = [&](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
    if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
    scan_.fail(position, fmt::format("'{}' is no hexadecimal digit", escape({&c, 1})));
  };
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<char>(value(digits[2 * i]) << 4 | value(digits[2 * i + 1]));
  }
  return bytes;
}

// All elements, or one that fills the tensor. Booleans take a byte each, or a bit each (lowest
// first) when there are fewer bytes than elements.
Literal Parser::literal_from_bytes(const TensorType& type, std::string bytes, size_t position) {
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
  const auto* from = reinterpret_cast<const std::byte*>(bytes.data());
  elements.assign(from, from + bytes.size());
  if (type.dtype == DType::kBool) {
    for (std::byte& element : elements) element = std::byte{element != std::byte{0}};
  }
  if (elements.size() == count * size) return Literal(type, std::move(elements));
  if (elements.size() == size) return make_splat(type, elements);
  scan_.fail(position, fmt::format("{} bytes, expected {} for {}", elements.size(), count * size,
                                   to_string(type)));
}

// After "dense_resource": `<name> : type`, whose bytes stand in the trailer of the file.
Literal Parser::parse_dense_resource() {
  scan_.expect("<");
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const std::string name =
      scan_.peek_string() ? scan_.expect_string() : std::string(scan_.expect_suffix("a resource"));
  scan_.expect(">");
  scan_.expect(":");
  const TensorType type = parse_type();
  const auto found = resources_.find(name);
  if (name == "__elided__" || found == resources_.end()) {
    scan_.fail(start, fmt::format("the elements of this constant are not in the file ({})", name),
               "export again with the weights as arguments of the function, or print without "
               "eliding large constants");
  }
  const size_t after = scan_.position();
  scan_.seek(found->second);
  std::string bytes = hex_bytes(scan_.expect_raw_string(), found->second);
  if (bytes.size() < 4) scan_.fail(found->second, "a resource without its alignment");
  scan_.seek(after);
  return literal_from_bytes(type, bytes.substr(4), found->second);  // 4 bytes give the alignment
}

}  // namespace spmd::text
