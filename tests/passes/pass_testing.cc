#include "tests/passes/pass_testing.h"

#include <sstream>

#include "ir/text.h"
#include "ir/verifier.h"
#include "passes/equivalence/compare.h"
#include "passes/equivalence/random_inputs.h"

namespace spmd::testing {
namespace {

std::string without_indentation(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string line, result;
  while (std::getline(lines, line)) {
    const size_t first = line.find_first_not_of(' ');
    if (first == std::string::npos) continue;
    result += line.substr(first, line.find_last_not_of(' ') - first + 1) + "\n";
  }
  return result;
}

}  // namespace

Module program(std::string_view text) {
  Module module = parse_stablehlo(text, "test.mlir");
  verify(module);
  return module;
}

Module program(const std::vector<std::string>& arguments, std::string_view body) {
  // The result types stand at the end of the return.
  const size_t last = body.rfind(':');
  std::string results(body.substr(last + 1));
  while (!results.empty() && (results.back() == '\n' || results.back() == ' ')) results.pop_back();
  std::string signature;
  for (size_t i = 0; i < arguments.size(); ++i) {
    signature += (i == 0 ? "" : ", ") + ("%x" + std::to_string(i)) + ": " + arguments[i];
  }
  return program("module @test {\nfunc.func public @main(" + signature + ") -> (" + results +
                 ") {\n" + std::string(body) + "\n}\n}\n");
}

bool apply(const Pass& pass, Module& module) {
  PassContext context;
  context.options.verify_each = true;
  return run_passes(module, {pass}, context, {.check_changed = true})[0].changed;
}

std::string body_of(const Module& module) {
  const std::string text = print_stablehlo(module);
  const size_t begin = text.find('\n', text.find("@main")) + 1;
  // The function ends at the first closing brace with the function's own indentation.
  const size_t end = text.find("\n  }", begin);
  return without_indentation(text.substr(begin, end - begin));
}

void expect_rewrite(const Pass& pass, Module module, std::string_view expected_body) {
  const Module before = module.clone();
  EXPECT_TRUE(apply(pass, module));
  EXPECT_EQ(body_of(module), without_indentation(expected_body));
  expect_same_values(before, module);
}

void expect_unchanged(const Pass& pass, Module module) {
  EXPECT_FALSE(apply(pass, module)) << print_stablehlo(module);
}

void expect_same_values(const Module& before, const Module& after, double tolerance) {
  for (uint64_t seed : {1, 2}) {
    const Difference difference = compare_modules(before, after, random_inputs(before, seed));
    EXPECT_LE(difference.relative, tolerance) << "seed " << seed << ", result " << difference.result
                                              << ", element " << difference.element << "\n"
                                              << print_stablehlo(after);
  }
}

int count_ops(const Module& module, OpCode code) {
  int count = 0;
  const Function& main = module.main();
  walk(main, [&](OpId id) { count += main.op(id).code == code; });
  return count;
}

}  // namespace spmd::testing
