#include "runtime/device/cuda/tuning_cache.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "support/strings.h"

namespace spmd::cuda {
namespace {

// Raised when what is timed, or how, changes.
constexpr int kTuner = 1;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

// Changes with everything that makes the best choice another one.
std::string machine_text(const Gpu& gpu) {
  return fmt::format(
      "tuner {} on {} sm_{} with {} multiprocessors and {} bytes, driver {}, "
      "CUBLAS_WORKSPACE_CONFIG={} NVIDIA_TF32_OVERRIDE={}",
      kTuner, gpu.name(), gpu.architecture(), gpu.multiprocessors(), gpu.total_memory(),
      gpu.driver().version(), environment("CUBLAS_WORKSPACE_CONFIG"),
      environment("NVIDIA_TF32_OVERRIDE"));
}

std::string problem_text(const MatmulProblem& p, size_t library_version) {
  return fmt::format(
      "product by cuBLASLt {}: {} x {} x {} of types {} to {} in {}, transposed {} {}, lines {} {} "
      "{}, batch {} strides {} {} {}, aligned {} {} {}, scale {}, bias {}, c {}, aux {}, "
      "activation {}",
      library_version, p.m, p.n, p.k, static_cast<int>(p.operands), static_cast<int>(p.result),
      static_cast<int>(p.compute), p.transpose_a, p.transpose_b, p.lda, p.ldb, p.ldd, p.batch,
      p.stride_a, p.stride_b, p.stride_d, p.align_a, p.align_b, p.align_d, p.scale, p.has_bias,
      p.has_c, p.has_aux, static_cast<int>(p.activation));
}

std::string to_hex(const void* data, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i)
    text += fmt::format("{:02x}", static_cast<const unsigned char*>(data)[i]);
  return text;
}

bool from_hex(std::string_view text, void* data, size_t bytes) {
  if (text.size() != 2 * bytes) return false;
  for (size_t i = 0; i < bytes; ++i) {
    unsigned char value = 0;
    const auto [end, error] =
        std::from_chars(text.data() + 2 * i, text.data() + 2 * i + 2, value, 16);
    if (error != std::errc() || end != text.data() + 2 * i + 2) return false;
    static_cast<unsigned char*>(data)[i] = value;
  }
  return true;
}

// The words of a value, read one after the other.
class EntryWords {
 public:
  explicit EntryWords(std::string_view text) : text_(text) {}

  std::string_view next() {
    const size_t end = std::min(text_.find(' '), text_.size());
    const std::string_view word = text_.substr(0, end);
    text_.remove_prefix(std::min(end + 1, text_.size()));
    return word;
  }
  template <typename Number>
  void read(Number& number) {
    const std::string_view word = next();
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) sound_ = false;
  }
  // Whether all that was read was there, and nothing else is.
  bool are_sound() const { return sound_ && text_.empty(); }

 private:
  std::string_view text_;
  bool sound_ = true;
};

}  // namespace

TuningCache::TuningCache(const Gpu& gpu, const std::string& folder)
    : files_(folder, kTuningEntries), folder_(folder), machine_(machine_text(gpu)) {}

void TuningCache::refuse(const std::string& fault) {
  if (faults_++ == 0) first_fault_ = fault;
}

// An entry is what it is of, a line, and its value.
std::optional<std::string> TuningCache::find_value(const std::string& what) {
  const std::string head = fmt::format("{}; {}\n", machine_, what);
  std::string fault;
  std::optional<std::string> entry = files_.find(FileCache::key({head}), &fault);
  if (entry && !entry->starts_with(head)) fault = "is of something else";
  if (!fault.empty()) {
    refuse(fault);
    return std::nullopt;
  }
  if (entry) entry->erase(0, head.size());
  return entry;
}

void TuningCache::put_value(const std::string& what, const std::string& value) {
  const std::string head = fmt::format("{}; {}\n", machine_, what);
  files_.put(FileCache::key({head}), head + value, what);
  wrote_ = true;
}

std::optional<MatmulChoice> TuningCache::find(const MatmulProblem& problem,
                                              size_t library_version) {
  const auto value = find_value(problem_text(problem, library_version));
  if (!value) return std::nullopt;
  MatmulChoice choice;
  EntryWords words(*value);
  const bool has_algorithm = from_hex(words.next(), &choice.algorithm, sizeof choice.algorithm);
  words.read(choice.workspace_bytes);
  words.read(choice.candidates);
  words.read(choice.first_us);
  words.read(choice.best_us);
  if (has_algorithm && words.are_sound() && choice.workspace_bytes >= 0) return choice;
  refuse("is damaged");
  return std::nullopt;
}

void TuningCache::put(const MatmulProblem& problem, size_t library_version,
                      const MatmulChoice& choice) {
  put_value(
      problem_text(problem, library_version),
      fmt::format("{} {} {} {} {}", to_hex(&choice.algorithm, sizeof choice.algorithm),
                  choice.workspace_bytes, choice.candidates, choice.first_us, choice.best_us));
}

std::optional<double> TuningCache::find_time(const std::string& what) {
  const auto value = find_value(what);
  if (!value) return std::nullopt;
  double microseconds = 0;
  EntryWords words(*value);
  words.read(microseconds);
  if (words.are_sound() && microseconds > 0) return microseconds;
  refuse("is damaged");
  return std::nullopt;
}

void TuningCache::put_time(const std::string& what, double microseconds) {
  put_value(what, fmt::format("{}", microseconds));
}

std::optional<std::string> TuningCache::find_choice(const std::string& what) {
  const auto value = find_value(what);
  if (!value) return std::nullopt;
  EntryWords words(*value);
  std::string name(words.next());
  if (words.are_sound() && !name.empty()) return name;
  refuse("is damaged");
  return std::nullopt;
}

std::vector<std::string> TuningCache::notes() const {
  std::vector<std::string> notes;
  if (faults_ > 0)
    notes.push_back(
        fmt::format("{}: {} of its entries cannot be used, and {} timed again: the "
                    "first {}",
                    folder_, faults_, faults_ == 1 ? "is" : "are", first_fault_));
  const std::string obstacle = wrote_ ? files_.obstacle() : "";
  if (!obstacle.empty())
    notes.push_back(
        fmt::format("{}: {}, so that every start times anew: choose a folder of yours "
                    "with --cache-dir",
                    folder_, obstacle));
  return notes;
}

}  // namespace spmd::cuda
