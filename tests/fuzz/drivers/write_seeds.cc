// write_seeds FOLDER: writes every target's seeds into FOLDER/<target>/, and its words as a
// dictionary of libFuzzer's to FOLDER/<target>.dict.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets.h"

#if !defined(__clang__)
// What code compiled with -fsanitize-coverage=trace-pc calls at every edge. Nobody listens here.
extern "C" __attribute__((no_sanitize_coverage)) void __sanitizer_cov_trace_pc() {}
#endif

namespace {

std::string dictionary_entry(std::string_view word) {
  std::string text = "\"";
  for (const char c : word) text += fmt::format("\\x{:02X}", static_cast<unsigned char>(c));
  return text + "\"\n";
}

void write(const spmd::testing::FuzzTarget& target, const std::filesystem::path& folder) {
  const std::filesystem::path seeds = folder / target.name;
  std::filesystem::create_directories(seeds);
  int number = 0;
  for (const std::string& seed : target.seeds()) {
    std::ofstream(seeds / fmt::format("seed-{}", number++), std::ios::binary) << seed;
  }
  std::ofstream words(folder / fmt::format("{}.dict", target.name));
  for (const std::string_view word : target.words) words << dictionary_entry(word);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
    return 2;
  }
  for (const auto& target : spmd::testing::fuzz_targets()) write(target, argv[1]);
  return 0;
}
