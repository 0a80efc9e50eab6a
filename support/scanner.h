// Scanner: reads a text from front to back and says what is wrong at line and column.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace spmd {

// Every reading function first skips blanks and comments, `// ...` and `/* ... */`. `expect...`
// throw UserError "source:line:col: found X, expected Y"; `accept...` and `peek...` return whether
// the text is there, and `accept...` moves on when it is.
class Scanner {
 public:
  // `text` must outlive the scanner. `kFile`: places are "source:line:col"; `kEmbedded`, for a
  // string that stands inside something else: "source, at character N".
  enum class Kind : uint8_t { kFile, kEmbedded };
  Scanner(std::string_view text, std::string source, Kind kind = Kind::kFile)
      : text_(text), source_(std::move(source)), kind_(kind) {}

  bool at_end();
  // The next character, or '\0' at the end.
  char peek();
  // Punctuation, matched exactly. accept_word matches only a whole word.
  bool peek(std::string_view punctuation);
  bool accept(std::string_view punctuation);
  void expect(std::string_view punctuation);
  bool peek_word(std::string_view word);
  bool accept_word(std::string_view word);
  void expect_word(std::string_view word);

  // A letter or underscore followed by letters, digits, `_`, `$`, `.`: words of MLIR.
  std::optional<std::string_view> accept_word();
  std::string_view expect_word_of(std::string_view expected);
  // Letters, digits, `_`, `$`, `.`, `-`: what follows a sigil (%, @, ^, #, !).
  std::string_view expect_suffix(std::string_view expected);
  // Decimal, with sign.
  std::optional<int64_t> accept_integer();
  int64_t expect_integer(std::string_view expected = "an integer");
  // A number's text as it stands: decimal, floating, hexadecimal, nan, inf.
  std::string_view expect_number();
  // A double-quoted string, its escapes (\n \t \\ \" \xx) resolved.
  std::string expect_string(std::string_view expected = "a string");
  bool peek_string() { return peek() == '"'; }
  // The same without resolving: the characters between the quotes.
  std::string_view expect_raw_string(std::string_view expected = "a string");

  // The text itself.
  size_t position() const { return position_; }
  void seek(size_t position) { position_ = position; }
  std::string_view text() const { return text_; }
  const std::string& source() const { return source_; }

  struct LineColumn {  // both from 1
    int line, column;
  };
  LineColumn line_column(size_t position) const;
  // "source:line:col"
  std::string place(size_t position) const;
  std::string place();
  // What stands at the position, quoted and shortened.
  std::string found();
  [[noreturn]] void fail_expected(std::string_view expected);
  [[noreturn]] void fail(size_t position, std::string_view fact, std::string_view remedy = {});

  void skip_blanks();

 private:
  std::string_view text_;
  std::string source_;
  Kind kind_;
  size_t position_ = 0;
  mutable std::vector<size_t> line_starts_;  // filled by the first line_column()
};

// Resolves the escapes of a quoted string.
std::string unescape(std::string_view raw);
// Escapes `"`, `\` and unprintable bytes, as MLIR does (\22, \0A).
std::string escape(std::string_view text);

// Counts nesting while it lives, so that hostile input cannot exhaust the stack.
class DepthGuard {
 public:
  DepthGuard(int& depth, Scanner& scan, int limit = 200) : depth_(depth) {
    if (++depth_ > limit) {
      --depth_;
      scan.fail(scan.position(), "nested too deeply");
    }
  }
  ~DepthGuard() { --depth_; }
  DepthGuard(const DepthGuard&) = delete;
  DepthGuard& operator=(const DepthGuard&) = delete;

 private:
  int& depth_;
};

}  // namespace spmd
