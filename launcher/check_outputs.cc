#include "launcher/check_outputs.h"

#include <filesystem>
#include <string>
#include <vector>

#include "launcher/output_file.h"
#include "runtime/io/output_path.h"
#include "support/error.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

struct NamedFile {
  std::string role;  // "--state"
  std::string path;
};

void add(std::vector<NamedFile>& files, const char* role, const std::string& path) {
  if (!path.empty()) files.push_back({role, path});
}

std::vector<NamedFile> inputs_of(const RunConfig& config, const CommandLine& line) {
  std::vector<NamedFile> files;
  add(files, "the program", line.model);
  add(files, "--config", line.config);
  add(files, "--state", config.state.value_or(""));
  add(files, "--batches", config.batches.value_or(""));
  add(files, "--check", config.expected.value_or(""));
  add(files, "--tolerances", config.tolerances.value_or(""));
  return files;
}

// Those that are moved to their places or truncated.
std::vector<NamedFile> outputs_of(const RunConfig& config) {
  std::vector<NamedFile> files;
  add(files, "--out", config.out.value_or(""));
  add(files, "--save-plan", config.save_plan.value_or(""));
  add(files, "log.jsonl", config.log_jsonl.value_or(""));
  if (config.report)
    for (const char* name : {"report.json", "report.txt", "metrics.jsonl"})
      add(files, "--report", (fs::path(*config.report) / name).string());
  return files;
}

// Devices and pipes can be named twice: nothing in them is replaced.
bool is_same_file(const std::string& a, const std::string& b) {
  const OutputPath first = resolve_output(a), second = resolve_output(b);
  if (first.in_place || second.in_place) return false;
  std::error_code error;
  if (fs::equivalent(first.target, second.target, error)) return true;
  // Not there yet, in folders that may have several names.
  const fs::path one = fs::weakly_canonical(fs::absolute(first.target), error);
  return !error && one == fs::weakly_canonical(fs::absolute(second.target), error);
}

void refuse_same(const NamedFile& output, const NamedFile& other, const char* what) {
  if (!is_same_file(output.path, other.path)) return;
  throw UserError(output.path,
                  fmt::format("{} would replace {}, {}", output.role, what, other.role),
                  "choose another file to write");
}

}  // namespace

void check_outputs(const RunConfig& config, const CommandLine& line) {
  const std::vector<NamedFile> inputs = inputs_of(config, line), outputs = outputs_of(config);
  for (size_t i = 0; i < outputs.size(); ++i) {
    for (const NamedFile& input : inputs) refuse_same(outputs[i], input, "an input of this run");
    for (size_t j = 0; j < i; ++j) refuse_same(outputs[i], outputs[j], "another output");
  }
  if (config.report) make_output_folder(*config.report);
  for (const NamedFile& output : outputs) check_writable(output.path);
}

}  // namespace spmd
