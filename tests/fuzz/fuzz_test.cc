// Every reader takes its seeds, what once failed, and thousands of damaged inputs, the same every
// time.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/mutate.h"
#include "tests/fuzz/run_target.h"

namespace spmd::testing {
namespace {

namespace fs = std::filesystem;

constexpr int kInputs = 2000;

class Fuzz : public ::testing::TestWithParam<std::string> {
 protected:
  const FuzzTarget& target() const { return *find_fuzz_target(GetParam()); }

  // The input as C would write it, for a message.
  static std::string quoted(std::string_view bytes) {
    std::string text;
    for (const char c : bytes.substr(0, 2000)) {
      const auto byte = static_cast<unsigned char>(c);
      text += byte >= 0x20 && byte < 0x7f ? std::string(1, c) : fmt::format("\\x{:02x}", byte);
    }
    return bytes.size() > 2000 ? text + "..." : text;
  }
};

TEST_P(Fuzz, SeedsAreRead) {
  for (const std::string& seed : target().seeds()) {
    EXPECT_NO_THROW(target().read(seed)) << quoted(seed);
  }
}

TEST_P(Fuzz, WhatOnceFailedIsReadOrRefused) {
  const fs::path folder = fs::path(SPMD_SOURCE_DIR) / "tests/fuzz/findings" / GetParam();
  if (!fs::exists(folder)) return;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    std::stringstream bytes;
    bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    EXPECT_EQ(fault_of(target(), bytes.str()), "") << entry.path();
  }
}

TEST_P(Fuzz, DamagedInputsAreReadOrRefused) {
  const std::vector<std::string> seeds = target().seeds();
  Random random(1);
  for (int i = 0; i < kInputs; ++i) {
    const std::string input = mutate(seeds, target().words, random);
    const std::string fault = fault_of(target(), input);
    ASSERT_EQ(fault, "") << "input " << i << ": " << quoted(input);
  }
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const FuzzTarget& target : fuzz_targets()) result.emplace_back(target.name);
  return result;
}

INSTANTIATE_TEST_SUITE_P(All, Fuzz, ::testing::ValuesIn(names()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace spmd::testing
