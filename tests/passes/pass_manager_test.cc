#include <filesystem>
#include <fstream>
#include <functional>

#include "ir/builder.h"
#include "passes/pass.h"
#include "passes/registry.h"
#include "support/error.h"
#include "tests/passes/pass_testing.h"

namespace spmd::testing {
namespace {

Module negation() {
  return program({"tensor<f32>"}, R"(
    %0 = stablehlo.negate %x0 : tensor<f32>
    return %0 : tensor<f32>)");
}

bool change(Module& module, PassContext&) {
  Function& main = module.main();
  Builder builder(main, main.body(), main.terminator(main.body()));
  const ValueId result = builder.value(OpCode::kAbs, {main.results()[0]});
  main.set_operand(main.terminator(main.body()), 0, result);
  return true;
}
bool keep(Module&, PassContext&) { return false; }

const Pass kChange{"change", "adds an op", change};
const Pass kKeep{"keep", "does nothing", keep};

std::string message_of(const std::function<void()>& run) {
  try {
    run();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing thrown";
}

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(PassManager, StopsAndSkips) {
  Module module = negation();
  PassContext context;
  const auto timings = run_passes(module, {kChange, kKeep, kChange}, context,
                                  {.stop_after = "keep", .skip = {"change"}});
  ASSERT_EQ(timings.size(), 1u);
  EXPECT_EQ(timings[0].pass, "keep");
  EXPECT_EQ(timings[0].ops, 2u);
  EXPECT_EQ(count_ops(module, OpCode::kAbs), 0);
}

TEST(PassManager, UnknownNamesAreErrorsWithTheNearestName) {
  Module module = negation();
  PassContext context;
  EXPECT_EQ(message_of([&] { run_passes(module, {kChange}, context, {.stop_after = "chnge"}); }),
            "stop_after: there is no pass 'chnge' among those chosen\n  did you mean 'change'?");
  EXPECT_EQ(message_of([&] {
              run_passes(module, {kChange, kKeep}, context, {.skip = {"zzzzzzzz"}});
            }),
            "skip: there is no pass 'zzzzzzzz' among those chosen\n  the passes are: change, keep");
  EXPECT_EQ(message_of([] { pass_named("simplfy"); }),
            "pass: there is no pass 'simplfy'\n  did you mean 'simplify'?");
}

TEST(PassManager, NamesThePassThatBreaksTheModule) {
  const Pass breaks{"breaks", "", [](Module& module, PassContext&) {
                      Function& main = module.main();
                      main.argument_info.clear();
                      return true;
                    }};
  Module module = negation();
  PassContext context;
  context.options.verify_each = true;
  const std::string message = message_of([&] { run_passes(module, {breaks}, context); });
  EXPECT_EQ(message.rfind("after pass breaks: ", 0), 0u) << message;
}

TEST(PassManager, CatchesPassesThatMisreportChanges) {
  PassContext context;
  Module module = negation();
  const Pass secret{"secret", "", [](Module& m, PassContext& c) {
                      change(m, c);
                      return false;
                    }};
  const Pass boaster{"boaster", "", [](Module&, PassContext&) { return true; }};
  EXPECT_EQ(message_of([&] { run_passes(module, {secret}, context, {.check_changed = true}); }),
            "pass secret says that it did not change the module, and it did");
  EXPECT_EQ(message_of([&] { run_passes(module, {boaster}, context, {.check_changed = true}); }),
            "pass boaster says that it changed the module, and it did not");
}

TEST(PassManager, DumpsNumberedFilesAndAManifest) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "spmd_pass_manager_dump";
  std::filesystem::remove_all(folder);
  Module module = negation();
  PassContext context;
  run_passes(module, {kKeep, kChange}, context, {.dump_dir = folder.string()});
  EXPECT_TRUE(std::filesystem::exists(folder / "000-input.mlir"));
  EXPECT_FALSE(std::filesystem::exists(folder / "001-keep.mlir"));
  EXPECT_NE(read(folder / "002-change.mlir").find("stablehlo.abs"), std::string::npos);
  const std::string manifest = read(folder / "manifest.json");
  EXPECT_NE(manifest.find(R"("index": 1, "pass": "keep", "changed": false)"), std::string::npos);
  EXPECT_NE(manifest.find(R"("file": "002-change.mlir")"), std::string::npos);
  std::filesystem::remove_all(folder);
}

TEST(PassManager, AnUnwritableDumpFolderIsAUserError) {
  Module module = negation();
  PassContext context;
  EXPECT_THROW(run_passes(module, {kKeep}, context, {.dump_dir = "/dev/null/dump"}), UserError);
}

}  // namespace
}  // namespace spmd::testing
