// In libFuzzer's place where there is no clang: the same calls on mutated inputs, with its flags
//   -max_total_time=SECONDS -seed=N -artifact_prefix=PREFIX FOLDER...
// Compiled with -fsanitize-coverage=trace-pc, inputs that reach new code are kept and written into
// the first folder. The input at hand is in PREFIXcurrent while it is read, and stays there when
// the reader crashes.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/fuzz/drivers/entry.h"
#include "tests/fuzz/mutate.h"

namespace {

namespace fs = std::filesystem;

// Which places of the code were reached, and whether the input at hand reached a new one.
std::array<bool, 1 << 20> reached_before;
bool reached_new;

}  // namespace

extern "C" __attribute__((no_sanitize_address, no_sanitize_undefined)) void
__sanitizer_cov_trace_pc() {
  static uintptr_t previous = 0;
  const auto place = reinterpret_cast<uintptr_t>(__builtin_return_address(0));
  const size_t edge = ((place >> 1) * 0x9e3779b97f4a7c15ULL ^ previous) % reached_before.size();
  previous = place >> 4;
  if (reached_before[edge]) return;
  reached_before[edge] = true;
  reached_new = true;
}

namespace {

struct Options {
  double seconds = 60;
  uint64_t seed = 1;
  std::string artifacts = "./";
  std::vector<fs::path> folders;
};

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    const std::string value(argument.substr(std::min(argument.find('=') + 1, argument.size())));
    if (argument.starts_with("-max_total_time=")) {
      options.seconds = std::strtod(value.c_str(), nullptr);
    } else if (argument.starts_with("-seed=")) {
      options.seed = std::strtoull(value.c_str(), nullptr, 10);
    } else if (argument.starts_with("-artifact_prefix=")) {
      options.artifacts = value;
    } else if (!argument.starts_with("-")) {  // other flags are libFuzzer's
      options.folders.emplace_back(argument);
    }
  }
  return options;
}

std::vector<std::string> read_inputs(const std::vector<fs::path>& folders) {
  std::vector<std::string> inputs;
  for (const fs::path& folder : folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
      std::stringstream bytes;
      bytes << std::ifstream(entry.path(), std::ios::binary).rdbuf();
      inputs.push_back(bytes.str());
    }
  }
  return inputs;
}

void write(const fs::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

class Run {
 public:
  explicit Run(Options options) : options_(std::move(options)), random_(options_.seed) {
    inputs_ = read_inputs(options_.folders);
    if (inputs_.empty()) inputs_.emplace_back();
  }

  void run() {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::duration<double>(options_.seconds);
    for (const std::string& input : std::vector(inputs_)) call(input);
    const auto& words = fuzz_target().words;
    while (std::chrono::steady_clock::now() < end) {
      const std::string input = spmd::testing::mutate(inputs_, words, random_);
      if (call(input)) keep(input);
    }
    fs::remove(current());
    std::printf("%lld inputs, %zu kept\n", static_cast<long long>(calls_), inputs_.size());
  }

 private:
  std::string current() const { return options_.artifacts + "current"; }

  // Whether the input reached new code.
  bool call(const std::string& input) {
    write(current(), input);
    reached_new = false;
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
    ++calls_;
    return reached_new;
  }

  void keep(const std::string& input) {
    inputs_.push_back(input);
    if (options_.folders.empty()) return;
    write(options_.folders[0] / fmt::format("{:016x}", std::hash<std::string>()(input)), input);
  }

  Options options_;
  spmd::testing::Random random_;
  std::vector<std::string> inputs_;
  int64_t calls_ = 0;
};

}  // namespace

int main(int argc, char** argv) { Run(parse(argc, argv)).run(); }
