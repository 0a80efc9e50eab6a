#include "support/printable.h"

#include <fmt/format.h>

#include <cstdint>

namespace spmd {
namespace {

bool is_continuation(char c) { return (static_cast<uint8_t>(c) & 0xC0) == 0x80; }

// Bytes of the printable character at the front of `text`; 0: what is there is none. The second
// byte tells apart what only looks like UTF-8 (Unicode 15, table 3-7), and control characters.
size_t printable_length(std::string_view text) {
  const auto first = static_cast<uint8_t>(text[0]);
  if (first < 0x80) return first >= 0x20 && first != 0x7F ? 1 : 0;
  const size_t length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!is_continuation(text[i])) return 0;
  }
  const auto second = static_cast<uint8_t>(text[1]);
  const bool control = first == 0xC2 && second < 0xA0;
  const bool too_long = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool surrogate = first == 0xED && second >= 0xA0;
  const bool too_large = first == 0xF4 && second >= 0x90;
  return control || too_long || surrogate || too_large ? 0 : length;
}

}  // namespace

std::string printable(std::string_view text) {
  std::string shown;
  shown.reserve(text.size());
  while (!text.empty()) {
    size_t length = text[0] == '\n' || text[0] == '\t' ? 1 : printable_length(text);
    if (length == 0) {
      shown += fmt::format("\\x{:02X}", static_cast<uint8_t>(text[0]));
      length = 1;
    } else {
      shown += text.substr(0, length);
    }
    text.remove_prefix(length);
  }
  return shown;
}

}  // namespace spmd
