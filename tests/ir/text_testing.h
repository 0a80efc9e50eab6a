// Helpers for tests of the text and of the proto of modules.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "ir/compare.h"
#include "ir/serialize.h"
#include "ir/text.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd::testing {

inline Module parse(const std::string& text) { return parse_stablehlo(text, "test.mlir"); }

// A module whose @main is `signature { body }`.
inline std::string main_text(const std::string& signature, const std::string& body) {
  return "module @m {\n  sdy.mesh @mesh = <[\"x\"=2, \"y\"=4]>\n  func.func public @main" +
         signature + " {\n" + body + "\n  }\n}\n";
}

// What a UserError says; anything else fails the test.
// Text to text and through the proto, locations included.
inline void expect_round_trips(const Module& module) {
  CompareOptions with_locations;
  with_locations.locations = true;
  PrintOptions print;
  const std::string text = print_stablehlo(module, print);
  EXPECT_EQ(first_difference(module, parse(text)), std::nullopt) << text;
  print.locations = true;
  const std::string located = print_stablehlo(module, print);
  EXPECT_EQ(first_difference(module, parse(located), with_locations), std::nullopt) << located;
  const std::string bytes = serialize(module);
  const Module back = deserialize(bytes, "bytes");
  EXPECT_EQ(first_difference(module, back, with_locations), std::nullopt);
  EXPECT_EQ(print_stablehlo(back, print), located);
  EXPECT_EQ(serialize(back), bytes);
}

inline std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace spmd::testing
