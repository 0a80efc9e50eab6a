#include "launcher/run_notes.h"

#include <fmt/ranges.h>

#include "support/names.h"

namespace spmd {

std::vector<std::string> notes_of_remarks(const std::vector<Remark>& remarks) {
  std::vector<std::string> notes;
  const Remark* first = nullptr;
  size_t others = 0;
  for (const Remark& remark : remarks) {
    if (remark.pass == kImport) notes.push_back(fmt::format("{}: {}", remark.place, remark.text));
    if (remark.pass != kImport && others++ == 0) first = &remark;
  }
  if (first == nullptr) return notes;
  std::string note = fmt::format("{}: {}", first->place, first->text);
  if (others > 1) note += fmt::format("; {} more remarks: spmd-run check lists them", others - 1);
  notes.push_back(std::move(note));
  return notes;
}

std::optional<std::string> note_of_unnamed(const std::string& source,
                                           const std::vector<std::string>& metrics) {
  std::vector<std::string> unnamed;
  for (const std::string& metric : metrics) {
    if (is_place_only(metric)) unnamed.push_back(metric);
  }
  if (unnamed.empty()) return std::nullopt;
  return fmt::format(
      "{}: names these metrics by their places only: {}; StableHLO text of a step that returns "
      "them in a dict has names",
      source, fmt::join(unnamed, ", "));
}

std::optional<std::string> note_of_cores(const CpuShare& share) {
  if (share.cpus.empty()) return std::nullopt;
  return fmt::format(
      "ranks were bound to {} core{} each; they may use {} now and compute with {} thread{} each "
      "(--threads N leaves them where they are bound)",
      share.bound, share.bound == 1 ? "" : "s", share.cpus.size(), share.threads,
      share.threads == 1 ? "" : "s");
}

}  // namespace spmd
