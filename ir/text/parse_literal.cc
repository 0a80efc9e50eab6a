#include "ir/text/elements.h"
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {
namespace {

constexpr size_t kMaxListDepth = 200;  // hostile input must not exhaust the stack

// Nested lists of the type's shape from dimension `dim` on, or one element.
void scan_elements(Scanner& scan, const TensorType& type, size_t dim,
                   std::vector<std::byte>& elements) {
  if (dim == type.shape.size()) return scan_element(scan, type.dtype, elements);
  if (dim == kMaxListDepth) scan.fail(scan.position(), "nested too deeply");
  scan.expect("[");
  for (int64_t i = 0; i < type.shape[dim]; ++i) {
    if (i > 0) scan.expect(",");
    scan_elements(scan, type, dim + 1, elements);
  }
  if (!scan.accept("]")) {
    scan.fail_expected(
        fmt::format("']' after {} elements of {}", type.shape[dim], to_string(type)));
  }
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
    literal = literal_of_bytes(type, hex_bytes(digits, begin), begin);
  } else if (scan_.peek(">")) {
    if (type.num_elements() != 0)
      scan_.fail_expected(fmt::format("elements of {}", to_string(type)));
    literal = Literal(type, {});
  } else {
    std::vector<std::byte> elements;
    const bool splat = !scan_.peek("[");
    scan_elements(scan_, type, splat ? type.shape.size() : 0, elements);
    literal = splat ? Literal::splat(type, static_cast<const void*>(elements.data()))
                    : Literal(type, std::move(elements));
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

Literal Parser::literal_of_bytes(const TensorType& type, std::string_view bytes, size_t position) {
  auto literal = literal_from_bytes(type, bytes);
  if (literal) return std::move(*literal);
  scan_.fail(position, fmt::format("{} bytes, expected {} for {}", bytes.size(), type.num_bytes(),
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
  const std::string bytes = hex_bytes(scan_.expect_raw_string(), found->second);
  if (bytes.size() < 4) scan_.fail(found->second, "a resource without its alignment");
  scan_.seek(after);
  // 4 bytes give the alignment.
  return literal_of_bytes(type, std::string_view(bytes).substr(4), found->second);
}

}  // namespace spmd::text
