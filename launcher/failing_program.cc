#include "launcher/failing_program.h"

#include <sys/mman.h>

#include <cstring>

#include "launcher/isolated.h"

namespace spmd {
namespace {

// The first line without what changes when a program becomes smaller: digits, and what stands in
// quotes, brackets or a place before it.
std::string kind_of_message(const std::string& message) {
  std::string line = message.substr(0, message.find('\n'));
  std::string kind;
  int depth = 0;
  bool quoted = false;
  for (char c : line) {
    if (c == '\'' || c == '"') {
      quoted = !quoted;
    } else if (c == '<' || c == '[' || c == '(') {
      ++depth;
    } else if ((c == '>' || c == ']' || c == ')') && depth > 0) {
      --depth;
    } else if (!quoted && depth == 0 && std::isdigit(static_cast<unsigned char>(c)) == 0) {
      kind += c;
    }
  }
  return kind;
}

// Where the child is, seen by its parent when it can say nothing any more.
class StageNote {
 public:
  StageNote()
      : text_(static_cast<char*>(
            mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~StageNote() {
    if (text_ != MAP_FAILED) munmap(text_, kSize);
  }
  StageNote(const StageNote&) = delete;
  StageNote& operator=(const StageNote&) = delete;

  void set(const std::string& stage) {
    if (text_ != MAP_FAILED) std::strncpy(text_, stage.c_str(), kSize - 1);
  }
  std::string get() const { return text_ == MAP_FAILED ? "a stage" : text_; }

 private:
  static constexpr size_t kSize = 256;
  char* text_;
};

std::string encode(const std::optional<StageFailure>& failure) {
  if (!failure) return "ok";
  return fmt::format("{}\n{}\n{}", failure->mismatch ? "mismatch" : "error", failure->stage,
                     failure->what);
}

std::optional<StageFailure> decode(const std::string& text) {
  if (text == "ok") return std::nullopt;
  const size_t kind = text.find('\n');
  const size_t stage = text.find('\n', kind + 1);
  return StageFailure{text.substr(kind + 1, stage - kind - 1), text.substr(0, kind) == "mismatch",
                      text.substr(stage + 1)};
}

}  // namespace

std::optional<ProgramFailure> check_isolated(const Module& module, const StageOptions& options,
                                             double seconds) {
  StageNote note;
  StageOptions noting = options;
  noting.on_stage = [&](const std::string& stage) { note.set(stage); };
  const IsolatedOutcome outcome =
      run_isolated([&] { return encode(check_stages(module, noting)); }, seconds);
  ProgramFailure failed;
  if (!outcome.finished()) {
    failed.failure = {note.get(), false, outcome.failure()};
    failed.signature = failed.failure.to_string();
    return failed;
  }
  const std::optional<StageFailure> failure = decode(outcome.text);
  if (!failure) return std::nullopt;
  failed.failure = *failure;
  failed.signature =
      failure->stage + (failure->mismatch ? ": mismatch" : ": " + kind_of_message(failure->what));
  return failed;
}

Module reduce_program(Module module, const ProgramFailure& failure, const StageOptions& options,
                      double seconds, const ShrinkOptions& shrink_options) {
  const auto fails = [&](const Module& candidate) {
    const std::optional<ProgramFailure> found = check_isolated(candidate, options, seconds);
    return found && found->signature == failure.signature;
  };
  return shrink(std::move(module), fails, shrink_options);
}

}  // namespace spmd
