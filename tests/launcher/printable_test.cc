#include "support/printable.h"

#include <gtest/gtest.h>

namespace spmd {
namespace {

TEST(Printable, KeepsTextOfAllLanguages) {
  for (const char* text : {"", "a: b\n  c\td", "Grösse", "学習", "\xF0\x9F\x98\x80"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesWhatMovesTheCursor) {
  EXPECT_EQ(printable("a\x1b[2Jb\r\x7f"), "a\\x1B[2Jb\\x0D\\x7F");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xC2\\x9B");  // a control character of two bytes
}

TEST(Printable, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(printable("\xFFz"), "\\xFFz");
  EXPECT_EQ(printable("\xC3"), "\\xC3");                             // ends early
  EXPECT_EQ(printable("\xC0\x80"), "\\xC0\\x80");                    // longer than needed
  EXPECT_EQ(printable("\xE0\x80\x80"), "\\xE0\\x80\\x80");           // longer than needed
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");  // beyond Unicode
}

}  // namespace
}  // namespace spmd
