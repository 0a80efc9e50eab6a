#include "tests/differential/same_meaning.h"

#include "gtest/gtest.h"
#include "ir/text.h"
#include "ir/verifier.h"

namespace spmd::testing {

namespace {

constexpr uint64_t kInputs = 6;

void check_on_links(const Module& module, uint64_t seed, Links links) {
  StageOptions options;
  options.exact = seed <= kInputs / 2;
  options.inputs = options.exact ? InputStyle::kWhole : InputStyle::kReal;
  options.seed = seed;
  options.cost = cost_model_of(links);
  const auto failure = check_stages(module, options);
  if (!failure) return;
  ADD_FAILURE() << "inputs " << seed << ", " << name_of(links) << ", " << failure->to_string();
}

Module verified(const std::string& module_text) {
  Module module = parse_stablehlo(module_text, "regression.mlir");
  verify(module);
  return module;
}

}  // namespace

void expect_same_meaning(const std::string& module_text) {
  const Module module = verified(module_text);
  for (uint64_t seed = 1; seed <= kInputs; ++seed) {
    check_on_links(module, seed, static_cast<Links>(seed % 3));
  }
}

void expect_same_meaning(Links links, const std::string& module_text) {
  const Module module = verified(module_text);
  for (uint64_t seed = 1; seed <= kInputs; ++seed) check_on_links(module, seed, links);
}

void expect_same_meaning(const std::string& mesh, const std::string& main) {
  expect_same_meaning("module @test {\nsdy.mesh @mesh = <[" + mesh + "]>\nfunc.func public @main" +
                      main + "\n}\n");
}

}  // namespace spmd::testing
