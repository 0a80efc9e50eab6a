#include "launcher/spmd_opt/evaluate.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "frontends/frontend.h"
#include "frontends/read_file.h"
#include "ir/evaluator.h"
#include "ir/text/printer.h"
#include "support/check_results.h"
#include "support/error.h"
#include "support/printable.h"

namespace spmd {
namespace {

// The parts of a file of several modules, as the tests of StableHLO separate them.
std::vector<std::string> split_modules(const std::string& bytes) {
  constexpr std::string_view kSeparator = "\n// -----";
  std::vector<std::string> parts;
  size_t begin = 0;
  for (size_t at; (at = bytes.find(kSeparator, begin)) != std::string::npos;) {
    parts.push_back(bytes.substr(begin, at - begin));
    begin = std::min(bytes.find('\n', at + kSeparator.size()), bytes.size());
  }
  parts.push_back(bytes.substr(begin));
  return parts;
}

// Prints the results of one module; returns how many of its checks fail.
int evaluate_module(const Module& module) {
  const Function& main = module.main();
  if (!main.arguments().empty()) {
    throw UserError(
        module.source, fmt::format("@main takes {} arguments", main.arguments().size()),
        "--evaluate runs programs that bring their own values; see spmd-run for others");
  }
  int failed = 0;
  const std::vector<Literal> results = evaluate(module, {});
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string& name = main.result_info[i].name;
    if (!is_check_result(name)) {
      fmt::print("result {}: {}\n", i, text::literal_text(results[i]));
      continue;
    }
    const int64_t wrong = results[i].as_int(0);
    if (wrong == 0) continue;
    ++failed;
    fmt::print(stderr, "spmd-opt: {}: {} element{} not as expected\n", printable(name), wrong,
               wrong == 1 ? " is" : "s are");
  }
  return failed;
}

}  // namespace

int evaluate_file(const std::string& path) {
  int failed = 0;
  const std::string bytes = read_file(path);
  const std::vector<std::string> parts = split_modules(bytes);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].find_first_not_of(" \t\r\n") == std::string::npos) continue;
    const std::string source = parts.size() == 1 ? path : fmt::format("{}, part {}", path, i + 1);
    failed += evaluate_module(import_bytes(parts[i], source));
  }
  return failed;
}

}  // namespace spmd
