#include "support/scanner.h"

#include <algorithm>
#include <charconv>

#include "support/error.h"

namespace spmd {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '.'; }

int hex_digit(char c) {
  if (is_digit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

void Scanner::skip_blanks() {
  while (position_ < text_.size()) {
    const char c = text_[position_];
    if (c == ' ' || c == '\n' || c == '\t' || c == '\r') {
      ++position_;
    } else if (c == '/' && text_.substr(position_, 2) == "//") {
      position_ = std::min(text_.find('\n', position_), text_.size());
    } else if (c == '/' && text_.substr(position_, 2) == "/*") {
      const size_t end = text_.find("*/", position_ + 2);
      position_ = end == std::string_view::npos ? text_.size() : end + 2;
    } else {
      return;
    }
  }
}

bool Scanner::at_end() {
  skip_blanks();
  return position_ >= text_.size();
}

char Scanner::peek() { return at_end() ? '\0' : text_[position_]; }

bool Scanner::peek(std::string_view punctuation) {
  skip_blanks();
  return text_.substr(position_, punctuation.size()) == punctuation;
}

bool Scanner::accept(std::string_view punctuation) {
  if (!peek(punctuation)) return false;
  position_ += punctuation.size();
  return true;
}

void Scanner::expect(std::string_view punctuation) {
  if (!accept(punctuation)) fail_expected("'" + std::string(punctuation) + "'");
}

bool Scanner::peek_word(std::string_view word) {
  if (!peek(word)) return false;
  const size_t end = position_ + word.size();
  return end >= text_.size() || !is_word(text_[end]);
}

bool Scanner::accept_word(std::string_view word) {
  if (!peek_word(word)) return false;
  position_ += word.size();
  return true;
}

void Scanner::expect_word(std::string_view word) {
  if (!accept_word(word)) fail_expected("'" + std::string(word) + "'");
}

std::optional<std::string_view> Scanner::accept_word() {
  if (!is_letter(peek())) return std::nullopt;
  const size_t start = position_;
  while (position_ < text_.size() && is_word(text_[position_])) ++position_;
  return text_.substr(start, position_ - start);
}

std::string_view Scanner::expect_word_of(std::string_view expected) {
  const auto word = accept_word();
  if (!word) fail_expected(expected);
  return *word;
}

std::string_view Scanner::expect_suffix(std::string_view expected) {
  const size_t start = position_;
  while (position_ < text_.size() && (is_word(text_[position_]) || text_[position_] == '-')) {
    // A dash ends the name when an arrow begins with it.
    if (text_.substr(position_, 2) == "->") break;
    ++position_;
  }
  if (position_ == start) fail_expected(expected);
  return text_.substr(start, position_ - start);
}

std::optional<int64_t> Scanner::accept_integer() {
  skip_blanks();
  const char* begin = text_.data() + position_;
  const char* end = text_.data() + text_.size();
  int64_t value = 0;
  const auto [stop, error] = std::from_chars(begin, end, value);
  if (error == std::errc::result_out_of_range) fail_expected("an integer of 64 bits");
  if (error != std::errc()) return std::nullopt;
  position_ += static_cast<size_t>(stop - begin);
  return value;
}

int64_t Scanner::expect_integer(std::string_view expected) {
  const auto value = accept_integer();
  if (!value) fail_expected(expected);
  return *value;
}

std::string_view Scanner::expect_number() {
  skip_blanks();
  const size_t start = position_;
  size_t at = start;
  if (at < text_.size() && (text_[at] == '-' || text_[at] == '+')) ++at;
  const bool hexadecimal = text_.substr(at, 2) == "0x" || text_.substr(at, 2) == "0X";
  for (; at < text_.size(); ++at) {
    const char c = text_[at];
    const bool sign_of_exponent = (c == '-' || c == '+') && !hexadecimal && at > start &&
                                  (text_[at - 1] == 'e' || text_[at - 1] == 'E');
    if (!is_word(c) && !sign_of_exponent) break;
  }
  if (at == start) fail_expected("a number");
  position_ = at;
  return text_.substr(start, at - start);
}

std::string_view Scanner::expect_raw_string(std::string_view expected) {
  if (peek() != '"') fail_expected(expected);
  const size_t start = position_;
  for (size_t at = start + 1; at < text_.size(); ++at) {
    if (text_[at] == '\\') {
      ++at;
    } else if (text_[at] == '"') {
      position_ = at + 1;
      return text_.substr(start + 1, at - start - 1);
    }
  }
  fail(start, "this string has no end", "expected a closing '\"'");
}

std::string Scanner::expect_string(std::string_view expected) {
  return unescape(expect_raw_string(expected));
}

Scanner::LineColumn Scanner::line_column(size_t position) const {
  if (line_starts_.empty()) {
    line_starts_.push_back(0);
    for (size_t i = 0; i < text_.size(); ++i) {
      if (text_[i] == '\n') line_starts_.push_back(i + 1);
    }
  }
  const auto next = std::upper_bound(line_starts_.begin(), line_starts_.end(), position);
  const auto line = next - line_starts_.begin();
  return {static_cast<int>(line), static_cast<int>(position - *std::prev(next)) + 1};
}

std::string Scanner::place(size_t position) const {
  if (kind_ == Kind::kEmbedded) return fmt::format("{}, at character {}", source_, position + 1);
  const auto [line, column] = line_column(position);
  return fmt::format("{}:{}:{}", source_, line, column);
}

std::string Scanner::place() {
  skip_blanks();
  return place(position_);
}

std::string Scanner::found() {
  if (at_end()) return "the end of the text";
  constexpr size_t kLongest = 24;
  size_t end = position_;
  if (is_word(text_[end])) {
    while (end < text_.size() && is_word(text_[end])) ++end;
  } else {
    ++end;
    if (end < text_.size() &&
        std::string_view("%@^#!").find(text_[position_]) != std::string_view::npos) {
      while (end < text_.size() && is_word(text_[end])) ++end;
    }
  }
  std::string shown(text_.substr(position_, std::min(end - position_, kLongest)));
  if (end - position_ > kLongest) shown += "...";
  return "'" + escape(shown) + "'";
}

void Scanner::fail_expected(std::string_view expected) {
  skip_blanks();
  throw UserError(place(position_), fmt::format("found {}, expected {}", found(), expected));
}

void Scanner::fail(size_t position, std::string_view fact, std::string_view remedy) {
  throw UserError(place(position), fact, remedy);
}

std::string unescape(std::string_view raw) {
  std::string text;
  text.reserve(raw.size());
  for (size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || i + 1 >= raw.size()) {
      text += raw[i];
      continue;
    }
    const char next = raw[i + 1];
    const int high = hex_digit(next);
    const int low = i + 2 < raw.size() ? hex_digit(raw[i + 2]) : -1;
    if (high >= 0 && low >= 0) {
      text += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      text += next == 'n' ? '\n' : next == 't' ? '\t' : next;
      ++i;
    }
  }
  return text;
}

std::string escape(std::string_view text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  escaped.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || byte < 0x20 || byte == 0x7F) {
      escaped += '\\';
      escaped += kHex[byte >> 4];
      escaped += kHex[byte & 15];
    } else if (c == '\\') {
      escaped += "\\\\";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

}  // namespace spmd
