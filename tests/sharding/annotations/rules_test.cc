#include "sharding/annotations/rules.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Arguments by name and shape; returns the first one, aliased to it.
Module program(const std::vector<std::pair<std::string, Dims>>& arguments) {
  Module module;
  module.mesh = parse_mesh("data=2,model=4");
  Function& fn = module.function(module.add_function("main"));
  for (const auto& [name, shape] : arguments) {
    fn.add_block_argument(fn.body(), {DType::kF32, shape});
    fn.argument_info.push_back({name});
  }
  Builder(fn, fn.body()).return_op({fn.arguments()[0]});
  fn.result_info.resize(1);
  fn.argument_info[0].aliased_result = 0;
  return module;
}

Module transformer() {
  return program({{"state['params']['attn']['kernel']", {8, 6}},
                  {"state['params']['norm']['scale']", {6}},
                  {"state['step']", {}},
                  {"batch['ids']", {8, 16}}});
}

std::string table(Module& module, const std::string& yaml) {
  return to_string(apply_rules(module, parse_sharding_rules(yaml, "rules.yaml")), module.mesh);
}

std::string rules_error(const std::string& yaml) {
  Module module = transformer();
  return testing::error_of([&] { table(module, yaml); });
}

TEST(ShardingRules, AxesAreCheckedInRulesThatNothingNeeds) {
  EXPECT_HAS(rules_error("sharding:\n  rules:\n    - {match: '.*', spec: []}\n"
                         "    - {match: '.*', spec: [modle], default: true}\n"),
             "has no axis \"modle\"");
}

TEST(ShardingRules, PatternsAlsoMatchTheNameAsAPath) {
  for (const char* pattern : {"params/attn/kernel", "params.attn.kernel", "attn'..'kernel"}) {
    Module module = transformer();
    const std::string yaml =
        std::string("sharding:\n  rules:\n    - {match: \"") + pattern +
        "\", spec: [data, model]}\n    - {match: '.*', spec: [], default: true}\n";
    EXPECT_HAS(table(module, yaml), "[{\"data\"}, {\"model\"}]");
  }
}

constexpr const char* kRules = R"(
sharding:
  rules:
    - {match: 'attn.*kernel', spec: [null, [model, data]]}
    - {match: 'norm', spec: []}
  inputs: {ids: [data, null]}
)";

TEST(ShardingRules, FirstMatchHolds) {
  Module module = transformer();
  const auto rows = apply_rules(module, parse_sharding_rules(kRules, "rules.yaml"));
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].sharding.to_string(module.mesh), R"([{}, {"model", "data"}])");
  EXPECT_EQ(rows[0].source, "rules.yaml:4 attn.*kernel");
  EXPECT_EQ(rows[0].bytes_per_rank, 8 * 1 * 4);  // 6 over 8 shards: one column
  EXPECT_EQ(rows[1].sharding.to_string(module.mesh), "[{}]");
  EXPECT_EQ(rows[2].source, "replicated scalar");
  EXPECT_EQ(rows[3].sharding.to_string(module.mesh), R"([{"data"}, {}])");
  const Function& fn = module.main();
  EXPECT_EQ(fn.value(fn.arguments()[0]).sharding, fn.result_info[0].sharding);
}

TEST(ShardingRules, TableNamesEverything) {
  Module module = transformer();
  const std::string text = table(module, kRules);
  EXPECT_HAS(text, "state['params']['attn']['kernel']");
  EXPECT_HAS(text, "tensor<8x6xf32>");
  EXPECT_HAS(text, "32 B");
}

TEST(ShardingRules, FileHoldsOverDefaultAndUnderRules) {
  Module module = program({{"a", {8}}, {"b", {8}}});
  Sharding file = Sharding::replicate(1);
  file.dims[0].axes = {{0, 1, 0}};
  Function& fn = module.main();
  for (ValueId argument : fn.arguments()) {
    fn.value(argument).sharding = std::make_shared<const Sharding>(file);
  }
  const auto rows =
      apply_rules(module, parse_sharding_rules("sharding: {rules: [{match: b, spec: [model]}, "
                                               "{match: '.*', spec: [], default: true}]}",
                                               "rules.yaml"));
  EXPECT_EQ(rows[0].source, "file");
  EXPECT_EQ(rows[1].sharding.to_string(module.mesh), R"([{"model"}])");
}

TEST(ShardingRules, DropForgetsTheFile) {
  Module module = program({{"a", {8}}});
  Function& fn = module.main();
  Sharding file = Sharding::replicate(1);
  file.dims[0].axes = {{0, 1, 0}};
  fn.value(fn.arguments()[0]).sharding = std::make_shared<const Sharding>(file);
  Builder builder = Builder::before(fn, fn.terminator(fn.body()));
  const ValueId constrained =
      builder.value(OpCode::kShardingConstraint, {fn.arguments()[0]}, ReshardAttrs{file});
  fn.set_operand(fn.terminator(fn.body()), 0, constrained);
  const auto rows =
      apply_rules(module, parse_sharding_rules("sharding: {constraints: drop}", "rules.yaml"));
  EXPECT_EQ(rows[0].source, "propagation");
  EXPECT_EQ(fn.results()[0], fn.arguments()[0]);
}

TEST(ShardingRules, RuleThatMatchesNothing) {
  const std::string error = rules_error(R"(
sharding:
  rules:
    - {match: 'atn', spec: [data]}
    - {match: '.*', spec: [], default: true}
)");
  EXPECT_HAS(error, "rules.yaml:4: rule \"atn\" matches no parameter");
  EXPECT_HAS(error, "state['params']['attn']['kernel']");
}

TEST(ShardingRules, RuleBehindAnother) {
  EXPECT_HAS(rules_error("sharding: {rules: [{match: '.*', spec: []}, {match: norm, spec: []}]}"),
             "rule \"norm\" never holds");
}

TEST(ShardingRules, ParameterWithoutRule) {
  const std::string error = rules_error("sharding: {rules: [{match: norm, spec: []}]}");
  EXPECT_HAS(error, "no rule matches parameter \"state['params']['attn']['kernel']\"");
  EXPECT_HAS(error, "default: true");
}

TEST(ShardingRules, WrongSpecs) {
  EXPECT_HAS(rules_error("sharding: {rules: [{match: norm, spec: [data, model]}, "
                         "{match: '.*', spec: []}]}"),
             "the spec has 2 entries, parameter \"state['params']['norm']['scale']\" "
             "tensor<6xf32> has 1 dimension\n  write one entry for each dimension");
  const std::string axis = rules_error(
      "sharding: {rules: [{match: kernel, spec: [modle]}, "
      "{match: '.*', spec: []}]}");
  EXPECT_HAS(axis, "the mesh data=2,model=4 has no axis \"modle\"");
  EXPECT_HAS(axis, "did you mean \"model\"?");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: kernel, spec: [data, data]}, "
                         "{match: '.*', spec: []}]}"),
             "used twice in [{\"data\"}, {\"data\"}]\n  use each axis once in a spec");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: 'a(b', spec: []}]}"),
             "rules.yaml:1: \"a(b\" is not a regular expression: a ( or ) without its partner, a ");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: 'a(b', spec: []}]}"),
             "\n  patterns are those of ECMAScript: write \\ before");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: '*', spec: []}]}"),
             "\"*\" is not a regular expression: a ( or ) without its partner, a *, + or ?");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: '[a', spec: []}]}"), "a [ without its ]");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: '(a)\\1', spec: []}]}"),
             "a reference to a group, which may take any time to match");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: a}]}"), "the rule has no spec");
  EXPECT_HAS(rules_error("sharding: {rules: [{match: a, spec: data}]}"), "spec is not a list");
  EXPECT_HAS(rules_error("sharding: {constraints: all}"), "expected keep, drop or only");
  EXPECT_HAS(rules_error("sharding: {constraints: only, inputs: {ids: []}}"),
             "only excludes rules");
}

// A backtracking search would not end.
TEST(ShardingRules, PatternsThatRepeatRepetitions) {
  for (const char* pattern : {"(.+)+Z", "(.*)*x$", "^(params|opt|.*)*Z"})
    EXPECT_HAS(
        rules_error(std::string("sharding: {rules: [{match: '") + pattern + "', spec: []}]}"),
        "rules.yaml:1");
}

TEST(ShardingRules, Inputs) {
  const std::string error = rules_error("sharding: {inputs: {idz: [data]}}");
  EXPECT_HAS(error, "rules.yaml:1: the program has no input \"idz\"");
  EXPECT_HAS(error, "batch['ids']");
  Module module = program({{"a.ids", {8}}, {"b.ids", {8}}});
  try {
    table(module, "sharding: {inputs: {ids: [data]}}");
    FAIL();
  } catch (const UserError& ambiguous) {
    EXPECT_HAS(std::string(ambiguous.what()), "input \"ids\" may be each of: a.ids, b.ids");
  }
}

TEST(ShardingRules, InputsWithoutNames) {
  Module module = program({{"params.w", {8}}, {"", {8, 4}}, {"", {8}}});
  try {
    table(module, "sharding: {inputs: {x: [data]}}");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_EQ(std::string(error.what()),
              "rules.yaml:1: the program has no input \"x\"\n"
              "  the program does not name its inputs: argument 1 tensor<8x4xf32>, argument 2 "
              "tensor<8xf32>\n"
              "  write the number, for example \"argument 1\", or export text with "
              "as_text(debug_info=True), which has names");
  }
  table(module, "sharding: {inputs: {argument 1: [data]}}");
  const Function& fn = module.main();
  EXPECT_EQ(fn.value(fn.arguments()[1]).sharding->to_string(module.mesh), "[{\"data\"}, {}]");
}

}  // namespace
}  // namespace spmd
