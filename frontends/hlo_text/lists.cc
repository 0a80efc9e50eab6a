#include "frontends/hlo_text/lists.h"

#include "support/error.h"

namespace spmd::hlo_text {
namespace {

int digit_of(char c, int base) {
  int digit = base;
  if (c >= '0' && c <= '9') digit = c - '0';
  if (c >= 'a' && c <= 'f') digit = c - 'a' + 10;
  if (c >= 'A' && c <= 'F') digit = c - 'A' + 10;
  return digit < base ? digit : -1;
}

// Up to `most` digits at `at`, which moves behind them; -1 when there is none.
int code_at(std::string_view raw, size_t& at, int base, int most) {
  int code = -1;
  for (int i = 0; i < most && at < raw.size() && digit_of(raw[at], base) >= 0; ++i, ++at) {
    code = (code < 0 ? 0 : code) * base + digit_of(raw[at], base);
  }
  return code;
}

char control_character(char c) {
  switch (c) {
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;  // a quote, a backslash
  }
}

// Resolves \n, \", \303 and \xc3.
std::string resolve_escapes(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t at = 0; at < raw.size();) {
    if (raw[at] != '\\' || at + 1 == raw.size()) {
      text += raw[at++];
      continue;
    }
    size_t digits = raw[at + 1] == 'x' ? at + 2 : at + 1;
    const int code = raw[at + 1] == 'x' ? code_at(raw, digits, 16, 2) : code_at(raw, digits, 8, 3);
    text += code < 0 ? control_character(raw[at + 1]) : static_cast<char>(code);
    at = code < 0 ? at + 2 : digits;
  }
  return text;
}

bool ends_value(char c) {
  return c == ',' || c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '}' || c == ')';
}

}  // namespace

void scan_integers(Scanner& scan, Integers& to) {
  scan_list(scan, "{", "}", [&] { to.Add(scan.expect_integer()); });
}

int32_t scan_int32(Scanner& scan) {
  scan.skip_blanks();
  const size_t start = scan.position();
  const int64_t value = scan.expect_integer();
  if (value != static_cast<int32_t>(value)) {
    scan.seek(start);
    scan.fail_expected("an integer of 32 bits");
  }
  return static_cast<int32_t>(value);
}

bool scan_bool(Scanner& scan) {
  if (scan.accept_word("true")) return true;
  if (scan.accept_word("false")) return false;
  scan.fail_expected("true or false");
}

std::vector<int64_t> scan_product(Scanner& scan) {
  std::vector<int64_t> factors = {scan.expect_integer()};
  while (scan.text().substr(scan.position(), 1) == "x") {
    scan.seek(scan.position() + 1);
    factors.push_back(scan.expect_integer());
  }
  return factors;
}

std::string_view scan_word(Scanner& scan, std::string_view expected) {
  scan.skip_blanks();
  return scan.expect_suffix(expected);
}

std::string_view scan_name(Scanner& scan, std::string_view expected) {
  scan.accept("%");
  return scan_word(scan, expected);
}

std::string scan_string(Scanner& scan) { return resolve_escapes(scan.expect_raw_string()); }

std::string scan_string_or_braces(Scanner& scan) {
  if (scan.peek("{")) return std::string(scan_braces(scan));
  if (!scan.peek_string()) scan.fail_expected("a string or '{'");
  return scan_string(scan);
}

std::string_view scan_braces(Scanner& scan) {
  if (!scan.peek("{")) scan.fail_expected("'{'");
  const std::string_view text = scan.text();
  const size_t start = scan.position();
  int open = 0;
  for (size_t at = start; at < text.size(); ++at) {
    if (text[at] == '"') {
      scan.seek(at);
      scan.expect_raw_string();
      at = scan.position() - 1;
    } else if (text[at] == '{') {
      ++open;
    } else if (text[at] == '}' && --open == 0) {
      scan.seek(at + 1);
      return text.substr(start, at + 1 - start);
    }
  }
  scan.fail(start, "this brace is not closed", "expected a '}'");
}

void skip_value(Scanner& scan) {
  if (scan.peek("{")) {
    scan_braces(scan);
    return;
  }
  if (scan.peek_string()) {
    scan.expect_raw_string();
    return;
  }
  scan.skip_blanks();
  const std::string_view text = scan.text();
  size_t at = scan.position();
  int open = 0;  // of ( and [: [2,4]<=[8]
  for (; at < text.size() && (open > 0 || !ends_value(text[at])); ++at) {
    if (text[at] == '\n') break;
    open += text[at] == '(' || text[at] == '[' ? 1 : text[at] == ')' || text[at] == ']' ? -1 : 0;
  }
  if (at == scan.position()) scan.fail_expected("a value");
  scan.seek(at);
}

}  // namespace spmd::hlo_text
