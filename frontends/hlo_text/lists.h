// Pieces of HLO text that several constructs have in common.
#pragma once

#include <google/protobuf/repeated_field.h>

#include <string>
#include <string_view>
#include <vector>

#include "support/scanner.h"

namespace spmd::hlo_text {

using Integers = google::protobuf::RepeatedField<int64_t>;

// Reads `open item, item close`; `item` reads one. There may be none, and a comma before `close`.
template <typename Item>
void scan_list(Scanner& scan, std::string_view open, std::string_view close, Item&& item) {
  scan.expect(open);
  while (!scan.peek(close)) {
    item();
    if (!scan.accept(",")) break;
  }
  if (!scan.accept(close)) scan.fail_expected("',' or '" + std::string(close) + "'");
}

// {1, 2}
void scan_integers(Scanner& scan, Integers& to);
int32_t scan_int32(Scanner& scan);
// true, false
bool scan_bool(Scanner& scan);
// 1x2x3
std::vector<int64_t> scan_product(Scanner& scan);

// The name of an instruction or a computation, without the `%` that may stand before it.
std::string_view scan_name(Scanner& scan, std::string_view expected);
// A word with dashes in it: an opcode, an attribute's name.
std::string_view scan_word(Scanner& scan, std::string_view expected);
// A quoted string, its C escapes resolved.
std::string scan_string(Scanner& scan);
// The same, or text in braces as it stands, braces included.
std::string scan_string_or_braces(Scanner& scan);

// The text from '{' to the '}' that closes it; braces in strings do not count.
std::string_view scan_braces(Scanner& scan);
// Passes over the value of an attribute, whatever it is.
void skip_value(Scanner& scan);

// A value of a protobuf enumeration by its name in lower case, without `prefix`. `values` lists
// them for the message.
template <typename Enum>
Enum scan_enum(Scanner& scan, std::string_view prefix, bool (*parse)(const std::string&, Enum*),
               std::string_view values) {
  scan.skip_blanks();
  const size_t start = scan.position();
  std::string name(prefix);
  for (const char c : scan_word(scan, values)) {
    name += c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  Enum value{};
  if (!parse(name, &value)) {
    scan.seek(start);
    scan.fail_expected(values);
  }
  return value;
}

}  // namespace spmd::hlo_text
