#include "launcher/config.h"

#include <gtest/gtest.h>

#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

std::string config_error(const std::string& yaml) {
  return testing::error_of([&] { parse_run_config(yaml, "run.yaml"); });
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

constexpr const char* kFull = R"(
mesh: {axes: {data: -1, model: 2}, order: [model, data]}
sharding:
  rules:
    - {match: 'attn/(q|k|v)/kernel', spec: [data, model]}
    - {match: 'wo', spec: [[data, model], null]}
    - {match: '.*', spec: [], default: true}
  inputs: {ids: [data, null]}
  constraints: drop
train: {steps: 200}
state: state.safetensors
data: {path: batches.safetensors}
out: final.safetensors
report: out/
log: {every: 10, jsonl: metrics.jsonl, progress: off}
)";

TEST(Config, ReadsEverything) {
  const RunConfig config = parse_run_config(kFull, "run.yaml");
  EXPECT_EQ(config.mesh->to_string(), "model=2,data=-1");
  ASSERT_EQ(config.sharding->rules.size(), 3u);
  EXPECT_EQ(config.sharding->rules[1].spec, (DimAxes{{"data", "model"}, {}}));
  EXPECT_EQ(config.sharding->rules[1].place, "run.yaml:6");
  EXPECT_TRUE(config.sharding->rules[2].is_default);
  EXPECT_EQ(config.sharding->constraints, ShardingRules::Constraints::kDrop);
  EXPECT_EQ(config.steps, 200);
  EXPECT_EQ(config.state, "state.safetensors");
  EXPECT_EQ(config.batches, "batches.safetensors");
  EXPECT_EQ(config.out, "final.safetensors");
  EXPECT_EQ(config.report, "out/");
  EXPECT_EQ(config.log_every, 10);
  EXPECT_EQ(config.log_progress, "off");
}

TEST(Config, PrintedConfigReadsBack) {
  const std::string printed = print_config(parse_run_config(kFull, "run.yaml"));
  EXPECT_EQ(print_config(parse_run_config(printed, "printed")), printed);
  EXPECT_HAS(printed, "constraints: drop");
}

TEST(Config, EmptyIsNothing) {
  EXPECT_FALSE(parse_run_config("", "run.yaml").mesh);
  EXPECT_NO_THROW(parse_run_config(print_config(RunConfig()), "printed"));
}

TEST(Config, FlagsWin) {
  RunConfig flags;
  flags.steps = 3;
  flags.mesh = parse_mesh_spec("data=4");
  flags.log_every = 1;
  const RunConfig config = merge(parse_run_config(kFull, "run.yaml"), flags);
  EXPECT_EQ(config.steps, 3);
  EXPECT_EQ(config.mesh->to_string(), "data=4");
  EXPECT_EQ(config.log_every, 1);
  EXPECT_EQ(config.log_jsonl, "metrics.jsonl");
  EXPECT_EQ(config.out, "final.safetensors");
}

TEST(Config, UnknownKeys) {
  const std::string top = config_error("mesh: {axes: {x: 2}}\nshardings: {}\n");
  EXPECT_HAS(top, "run.yaml:2: unknown key \"shardings\"");
  EXPECT_HAS(top, "did you mean \"sharding\"?");
  EXPECT_HAS(config_error("train:\n  step: 3\n"), "run.yaml:2: unknown key \"train.step\"");
  EXPECT_HAS(config_error("log: {evry: 3}\n"), "did you mean \"every\"?");
  EXPECT_HAS(config_error("sharding:\n  rules:\n  - {mach: a, spec: []}\n"),
             "did you mean \"match\"?");
}

TEST(Config, KeysOfAnotherSection) {
  EXPECT_EQ(config_error("mesh: {axes: {x: 2}}\nsteps: 4\n"),
            "run.yaml:2: unknown key \"steps\"\n  it is a key of train: write train: {steps: 4}");
  EXPECT_HAS(config_error("progress: off\n"), "it is a key of log: write log: {progress: auto}");
  EXPECT_EQ(config_error("train:\n  batches: b.safetensors\n"),
            "run.yaml:2: unknown key \"train.batches\"\n"
            "  it is a key of the document: write batches: batches.safetensors");
  EXPECT_HAS(config_error("log: {steps: 3}"), "it is a key of train: write train: {steps: 4}");
}

TEST(Config, MalformedValues) {
  EXPECT_EQ(config_error("train: {steps: many}"),
            "run.yaml:1: train.steps: found \"many\", expected a number of steps of at least 1\n"
            "  for example: steps: 4");
  EXPECT_HAS(config_error("train: {steps: 0}"), "train.steps: found \"0\", expected a number");
  EXPECT_HAS(config_error("train: 3"), "train is a value, expected a map");
  EXPECT_HAS(config_error("out: [a]"), "out is a list, expected a text");
  EXPECT_HAS(config_error("out: ''"), "out: found \"\", expected a path");
  EXPECT_HAS(config_error("device: cup"),
             "expected cpu, cuda or auto\n  did you mean device: cpu?");
  EXPECT_HAS(config_error("watchdog: -1"), "run.yaml:1: watchdog: found \"-1\", expected seconds");
  EXPECT_HAS(config_error("steps: [1"), "run.yaml:1:");
  EXPECT_HAS(config_error("out: a\nout: b\n"), "run.yaml:2: key \"out\" occurs twice");
  EXPECT_HAS(config_error("data: {path: a}\nbatches: b\n"), "both data and batches");
  EXPECT_HAS(config_error("log: {progress: maybe}"), "expected auto, on or off");
  EXPECT_HAS(config_error("mesh: {axes: {x: -1, y: -1}}"), "more than one axis has size -1");
  EXPECT_HAS(config_error("mesh: {axes: {x: 0}}"), "axis \"x\" has size 0");
  EXPECT_HAS(config_error("mesh: {axes: {x: 2}, order: [y]}"), "mesh.order names \"y\"");
  EXPECT_HAS(config_error("- a"), "the document is a list, expected a map");
}

TEST(Config, MissingFile) {
  try {
    read_run_config("/nonexistent/run.yaml");
    FAIL();
  } catch (const UserError& error) {
    EXPECT_HAS(std::string(error.what()),
               "/nonexistent/run.yaml: cannot open the file: No such file");
  }
}

TEST(MeshSpec, InfersASize) {
  EXPECT_EQ(resolve_mesh(parse_mesh_spec("data=-1,model=2"), 8).to_string(), "data=4,model=2");
  EXPECT_EQ(resolve_mesh(parse_mesh_spec("data=2"), 2).to_string(), "data=2");
  EXPECT_THROW(resolve_mesh(parse_mesh_spec("data=-1,model=2"), 3), UserError);
  EXPECT_THROW(resolve_mesh(parse_mesh_spec("data=2"), 4), UserError);
  EXPECT_THROW(parse_mesh_spec("data"), UserError);
  EXPECT_THROW(parse_mesh_spec("data=2,"), UserError);
  EXPECT_THROW(parse_mesh_spec("=2"), UserError);
  EXPECT_THROW(parse_mesh_spec("data=2x"), UserError);
  EXPECT_THROW(parse_mesh_spec("a=4294967296,b=4294967296"), UserError);
}

}  // namespace
}  // namespace spmd
