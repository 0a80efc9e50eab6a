// Tables of programs that verify() accepts or rejects.
#pragma once

#include <cctype>
#include <span>

#include "tests/ir/text_testing.h"

namespace spmd::testing {

struct VerifierRow {
  const char* arguments;  // of @main
  const char* ops;        // its body, without the return
  const char* message;    // op and fact of the error's first line; empty: accepted
};

// The first line of what reading says, without the place before the op; empty when it is accepted.
inline std::string rejection(const std::string& text) {
  std::string message;
  try {
    parse(text);
    return "";
  } catch (const UserError& error) {
    message = error.what();
  }
  message.resize(std::min(message.find('\n'), message.size()));
  // "test.mlir:4: op: fact"
  EXPECT_EQ(message.rfind("test.mlir:", 0), 0u) << message;
  const size_t fact = message.find(": ");
  EXPECT_NE(fact, std::string::npos) << message;
  return message.substr(fact + 2);
}

// The mesh is ["x"=2, "y"=4].
inline void check_rows(std::span<const VerifierRow> rows) {
  for (const VerifierRow& row : rows) {
    const std::string text = main_text("(" + std::string(row.arguments) + ")",
                                       "    " + std::string(row.ops) + "\n    return");
    const std::string found = rejection(text);
    EXPECT_EQ(found, row.message) << text;
    EXPECT_TRUE(found.empty() || !std::isupper(static_cast<unsigned char>(found[0])));
  }
}

}  // namespace spmd::testing
