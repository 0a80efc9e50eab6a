#include "launcher/same_command_line.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "launcher/agreement.h"
#include "runtime/io/mapped_file.h"
#include "runtime/plan/checksum.h"
#include "support/error.h"

namespace spmd {
namespace {

// Of a larger file, as many pieces as make this, evenly spread: ranks start without reading it all.
constexpr int64_t kMostHashed = int64_t{16} << 20;
constexpr int64_t kPieces = 64;
constexpr size_t kMostListed = 8;

constexpr const char* kModel = "MODEL";
constexpr const char* kSameForAll = "give all ranks the same command line";

// What a rank tells of its command line.
struct Summary {
  uint64_t options = 0;
  uint64_t path = 0;
  uint64_t content = 0;  // of the program; 0: this rank cannot read it
};

// The checksum of a file, or 0: it is none that can be read, or a pipe, whose reader has but one
// go.
uint64_t checksum_of_file(const std::string& path) {
  try {
    const MappedFile file(path);
    const int64_t pieces = file.size() <= kMostHashed ? 1 : kPieces;
    const int64_t bytes = std::min(file.size(), kMostHashed) / pieces;
    std::string text = fmt::format("{}", file.size());
    for (int64_t i = 0; i < pieces; ++i) {
      const int64_t at = pieces == 1 ? 0 : (file.size() - bytes) * i / (pieces - 1);
      const auto* data = reinterpret_cast<const char*>(file.data()) + at;
      text += fmt::format(" {}", plan::checksum({data, static_cast<size_t>(bytes)}));
    }
    return std::max<uint64_t>(plan::checksum(text), 1);
  } catch (const UserError&) {
    return 0;
  }
}

// A command line as ranks send it to each other: what is wrong with it, if anything, and what was
// given.
struct Line {
  std::string mistake;
  std::map<std::string, std::string> options;  // without the program
  std::string model;

  explicit Line(const ParsedCommandLine& parsed) : options(parsed.given) {
    if (parsed.stop) mistake = parsed.text;
    if (const auto found = options.find(kModel); found != options.end()) {
      model = found->second;
      options.erase(found);
    }
    options.erase("--verbose");
  }

  // As many strings as there are, each with a zero at its end.
  explicit Line(const std::string& sent) {
    std::vector<std::string> strings;
    for (size_t begin = 0; begin < sent.size();) {
      const size_t end = sent.find('\0', begin);
      strings.push_back(sent.substr(begin, end - begin));
      begin = end + 1;
    }
    SPMD_CHECK(strings.size() >= 2 && strings.size() % 2 == 0);
    mistake = strings[0];
    model = strings[1];
    for (size_t i = 2; i < strings.size(); i += 2) options[strings[i]] = strings[i + 1];
  }
  std::string to_send() const {
    std::string sent = mistake + '\0' + model + '\0';
    for (const auto& [name, value] : options) sent += name + '\0' + value + '\0';
    return sent;
  }
};

Summary summary_of(const Line& line) {
  Summary summary;
  summary.path = plan::checksum(line.model);
  if (!line.model.empty()) summary.content = checksum_of_file(line.model);
  Line options = line;
  options.model.clear();
  summary.options = plan::checksum(options.to_send());
  return summary;
}

bool same_program(const Summary& a, const Summary& b) {
  return a.content != 0 && b.content != 0 ? a.content == b.content : a.path == b.path;
}

// "rank 3", "ranks 1, 2 and 90 more"
std::string list_ranks(const std::vector<int>& ranks) {
  std::string text = ranks.size() == 1 ? "rank" : "ranks";
  for (size_t i = 0; i < std::min(ranks.size(), kMostListed); ++i)
    text += fmt::format("{}{}", i == 0 ? " " : ", ", ranks[i]);
  if (ranks.size() > kMostListed) text += fmt::format(" and {} more", ranks.size() - kMostListed);
  return text;
}

std::string value_of(const Line& line, const std::string& option) {
  const auto found = line.options.find(option);
  return found == line.options.end() ? "none" : found->second;
}

// What the first of `others`, the ranks that differ, has otherwise than rank 0.
std::string difference(const Line& root, const Line& other, bool other_program,
                       const std::vector<int>& others) {
  if (!root.mistake.empty()) return root.mistake;
  const int rank = others[0];
  if (!other.mistake.empty()) return fmt::format("rank {}: {}", rank, other.mistake);
  const std::string remedy = fmt::format("{} differ{} from rank 0: {}", list_ranks(others),
                                         others.size() == 1 ? "s" : "", kSameForAll);
  if (other_program && root.model == other.model)
    return UserError(root.model, fmt::format("is another file on rank {} than on rank 0", rank),
                     fmt::format("{}\n  give all ranks one file, or copies of it", remedy))
        .what();
  if (other_program)
    return UserError(kModel,
                     fmt::format("{} on rank 0, {} on rank {}", root.model, other.model, rank),
                     remedy)
        .what();
  std::set<std::string> names;
  for (const Line* line : {&root, &other})
    for (const auto& [name, value] : line->options) names.insert(name);
  for (const std::string& name : names) {
    const std::string wanted = value_of(root, name), found = value_of(other, name);
    if (wanted == found) continue;
    return UserError(name, fmt::format("{} on rank 0, {} on rank {}", wanted, found, rank), remedy)
        .what();
  }
  SPMD_UNREACHABLE("command lines that are alike");
}

}  // namespace

void require_same_command_line(comm::Communicator& communicator, const ParsedCommandLine& parsed) {
  if (communicator.size() == 1) return;
  const Line own(parsed);
  const Summary summary = summary_of(own);
  std::vector<Summary> all(static_cast<size_t>(communicator.size()));
  communicator.all_gather(communicator.world(), &summary, all.data(), sizeof summary,
                          "the comparison of command lines");
  std::vector<int> others;
  for (int rank = 1; rank < communicator.size(); ++rank) {
    const Summary& other = all[static_cast<size_t>(rank)];
    if (other.options != all[0].options || !same_program(other, all[0])) others.push_back(rank);
  }
  if (others.empty()) return;
  const auto line_of = [&](int rank) {
    std::string sent = own.to_send();
    communicator.broadcast(sent, rank, "a command line");
    return Line(sent);
  };
  const Line root = line_of(0), other = line_of(others[0]);
  const bool other_program = !same_program(all[static_cast<size_t>(others[0])], all[0]);
  throw Failed(kUsageError, difference(root, other, other_program, others));
}

}  // namespace spmd
