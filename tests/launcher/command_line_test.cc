#include "launcher/command_line.h"

#include <gtest/gtest.h>

#include "launcher/exit_codes.h"
#include "support/error.h"
#include "tests/support/error_of.h"

namespace spmd {
namespace {

ParsedCommandLine parse(std::vector<const char*> words) {
  words.insert(words.begin(), "spmd-run");
  return parse_command_line(static_cast<int>(words.size()), words.data());
}

// What is said about a mistake.
std::string mistake(const std::vector<const char*>& words) {
  const ParsedCommandLine parsed = parse(words);
  EXPECT_TRUE(parsed.stop);
  EXPECT_EQ(parsed.exit_code, kUsageError);
  return parsed.text;
}

std::string refused_setting(const std::string& setting) {
  CommandLine line;
  line.settings = {setting};
  return testing::error_of([&] { resolve_config(line); });
}

constexpr const char* kHelp = "\n  see spmd-run --help";

TEST(CommandLine, OptionsAreRead) {
  const ParsedCommandLine parsed = parse({"m.mlir", "--steps", "12", "--ranks=4", "--mesh",
                                          "data=4", "--check", "e", "--tolerances", "t.json"});
  EXPECT_FALSE(parsed.stop) << parsed.text;
  EXPECT_EQ(parsed.line.model, "m.mlir");
  EXPECT_EQ(parsed.line.flags.steps, 12);
  EXPECT_EQ(parsed.line.ranks, 4);
  EXPECT_EQ(parsed.line.command, CommandLine::Command::kRun);
  EXPECT_EQ(parse({"check", "m.mlir", "--json"}).line.command, CommandLine::Command::kCheck);
}

TEST(CommandLine, NumbersThatAreNone) {
  EXPECT_EQ(mistake({"m", "--steps=abc"}),
            "--steps: found \"abc\", expected a number of steps of at least 1\n"
            "  for example: --steps 4" +
                std::string(kHelp));
  EXPECT_EQ(mistake({"m", "--compile-budget", "abc"}),
            "--compile-budget: found \"abc\", expected seconds: more than 0, at most 1000000\n"
            "  for example: --compile-budget 20" +
                std::string(kHelp));
  EXPECT_EQ(mistake({"m", "--watchdog", "inf"}).find("--watchdog: found \"inf\", expected"), 0u);
  EXPECT_EQ(mistake({"m", "--steps", "1.5"}).find("--steps: found \"1.5\", expected"), 0u);
  EXPECT_EQ(mistake({"m", "--ranks", "0"}).find("--ranks: found \"0\", expected"), 0u);
  EXPECT_NE(mistake({"m", "--ranks", "4097"}).find("and at most 4096"), std::string::npos);
  EXPECT_EQ(parse({"check", "m", "--ranks", "65536"}).line.ranks, 65536);
  EXPECT_EQ(mistake({"m", "--steps"}), std::string("--steps: expected one value after it") + kHelp);
}

TEST(CommandLine, WordsThatAreNotKnown) {
  EXPECT_EQ(mistake({"m", "--device", "tpu"})
                .find("--device: found \"tpu\", expected cpu, cuda or auto\n"),
            0u);
  EXPECT_EQ(mistake({"m", "--init", "zeros"}).find("--init: found \"zeros\", expected random"), 0u);
  EXPECT_EQ(mistake({"m", "--sate", "s"}),
            std::string("unknown option --sate\n  did you mean --state?") + kHelp);
  EXPECT_NE(mistake({"m", "--codegen", "of"}).find("\n  did you mean --codegen off?"),
            std::string::npos);
  EXPECT_EQ(mistake({"m", "--threads", "0"}).find("--threads: found \"0\", expected "), 0u);
  EXPECT_NE(mistake({"m", "--cuda-graphs", "maybe"}).find("\n  for example: --cuda-graphs auto"),
            std::string::npos);
}

TEST(CommandLine, CommandsThatAreNotKnown) {
  EXPECT_EQ(mistake({"checl", "m.mlir"}),
            std::string("unknown command checl\n  did you mean spmd-run check?") + kHelp);
  EXPECT_EQ(mistake({"chek"}).find("unknown command chek\n  did you mean spmd-run check?"), 0u);
  EXPECT_EQ(mistake({"cahce", "ls"}).find("unknown command cahce"), 0u);
  EXPECT_EQ(mistake({"cache", "lst"}),
            std::string("cache: found \"lst\", expected ls or clear\n  did you mean ls?") + kHelp);
  EXPECT_FALSE(parse({"checl.mlir"}).stop);
  EXPECT_EQ(mistake({"trian", "m.mlir"}),
            std::string("unknown command trian\n  spmd-run MODEL trains; the commands are spmd-run "
                        "check and cache") +
                kHelp);
  EXPECT_EQ(mistake({"a.mlir", "b.mlir"}), std::string("unexpected argument b.mlir") + kHelp);
}

TEST(CommandLine, OptionsOfAnotherCommand) {
  EXPECT_EQ(mistake({"check", "m", "--steps", "3"}),
            std::string("--steps is no option of spmd-run check\n  it is one of a run") + kHelp);
  EXPECT_EQ(mistake({"m", "--json"}).find("--json is no option of a run\n"), 0u);
  EXPECT_EQ(mistake({"cache", "ls", "--json"}).find("--json is no option of spmd-run cache"), 0u);
}

// An option is one line: its place has no line number.
TEST(CommandLine, SettingsAreNamedWhole) {
  EXPECT_EQ(refused_setting("train.steps=abc"),
            "--set train.steps=abc: train.steps: found \"abc\", expected a number of steps of at "
            "least 1\n  for example: --set train.steps=4");
  EXPECT_EQ(refused_setting("state={a"),
            "--set state={a: not valid YAML: end of map flow not found\n"
            "  look there and in the lines before for indentation, quotes and brackets");
  EXPECT_EQ(refused_setting("steps=3"),
            "--set steps=3: unknown key \"steps\"\n"
            "  it is a key of train: write --set train.steps=4");
  EXPECT_EQ(refused_setting("mesh=data=2,data=3"),
            "--set mesh=data=2,data=3: axis \"data\" occurs twice in data=2,data=3\n"
            "  give each axis one size");
}

}  // namespace
}  // namespace spmd
