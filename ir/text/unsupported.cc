// Lists every op of a text that is not in the op table.
#include <map>

#include "ir/opcode.h"
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {
namespace {

bool is_supported(std::string_view name) {
  static constexpr std::string_view kOthers[] = {"module",
                                                 "builtin.module",
                                                 "func.func",
                                                 "func.return",
                                                 "return",
                                                 "call",
                                                 "sdy.return",
                                                 "sdy.mesh",
                                                 "sdy.reshard",
                                                 "stablehlo.tuple",
                                                 "stablehlo.get_tuple_element",
                                                 "chlo.tan",
                                                 "chlo.constant",
                                                 "chlo.dynamic_reshape",
                                                 "stablehlo.composite"};
  for (std::string_view other : kOthers) {
    if (name == other) return true;
  }
  return opcode_named(name).has_value();
}

// The name of the op that begins at the start of a line, or nothing.
std::string_view op_on_line(std::string_view line) {
  size_t at = line.find_first_not_of(" \t");
  if (at == std::string_view::npos) return {};
  if (line[at] == '%') {
    // Results: "%a:2, %b = ".
    const size_t equals = line.find(" = ", at);
    if (equals == std::string_view::npos) return {};
    at = line.find_first_not_of(' ', equals + 3);
    if (at == std::string_view::npos) return {};
  }
  const bool quoted = line[at] == '"';
  if (quoted) ++at;
  size_t end = at;
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.';
  };
  while (end < line.size() && is_word(line[end])) ++end;
  const std::string_view name = line.substr(at, end - at);
  // An op has a dialect; words without one are parts of ops ("cond", "reducer").
  return name.find('.') == std::string_view::npos ? std::string_view() : name;
}

// What to do about ops that are left out on purpose.
std::string_view remedy_for(std::string_view name) {
  static constexpr std::string_view kHost =
      "talks to the host while it runs; pass the data as arguments and results";
  static constexpr std::string_view kQuantized =
      "quantized types are not supported; export before quantization";
  static constexpr std::pair<std::string_view, std::string_view> kRemedies[] = {
      {"stablehlo.infeed", kHost},
      {"stablehlo.outfeed", kHost},
      {"stablehlo.recv", kHost},
      {"stablehlo.send", kHost},
      {"stablehlo.uniform_dequantize", kQuantized},
      {"stablehlo.uniform_quantize", kQuantized}};
  for (const auto& [op, remedy] : kRemedies) {
    if (op == name) return remedy;
  }
  return {};
}

struct Occurrences {
  int count = 0;
  std::vector<int> lines;  // the first few
};

}  // namespace

void throw_unsupported_ops(std::string_view text, const std::string& source) {
  constexpr size_t kShownLines = 3;
  std::map<std::string_view, Occurrences> found;
  int line = 1;
  for (size_t at = 0; at < text.size(); ++line) {
    const size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view name = op_on_line(text.substr(at, end - at));
    if (!name.empty() && !is_supported(name)) {
      Occurrences& occurrences = found[name];
      ++occurrences.count;
      if (occurrences.lines.size() < kShownLines) occurrences.lines.push_back(line);
    }
    at = end + 1;
  }
  if (found.empty()) return;
  std::string list;
  for (const auto& [name, occurrences] : found) {
    list += fmt::format("\n  {}: {} {}, line{} ", name, occurrences.count,
                        occurrences.count == 1 ? "time" : "times",
                        occurrences.lines.size() == 1 ? "" : "s");
    for (size_t i = 0; i < occurrences.lines.size(); ++i) {
      list += fmt::format("{}{}", i == 0 ? "" : ", ", occurrences.lines[i]);
    }
    if (static_cast<size_t>(occurrences.count) > occurrences.lines.size()) list += ", ...";
    if (const std::string_view remedy = remedy_for(name); !remedy.empty()) {
      list += fmt::format(": {}", remedy);
    }
  }
  throw UserError(source,
                  found.size() == 1
                      ? "1 operation is not supported:" + list
                      : fmt::format("{} operations are not supported:{}", found.size(), list),
                  "express the program without them");
}

}  // namespace spmd::text
