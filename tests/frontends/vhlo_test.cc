// A program's bytecode imports to the module that its text imports to, whatever version of VHLO
// holds it. tests/data/vhlo/generate.py says where the files come from.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "frontends/frontend.h"
#include "ir/compare.h"
#include "support/error.h"
#include "tests/differential/random.h"
#include "tests/support/error_of.h"
#include "tests/support/repetitions.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

const fs::path kVhlo = fs::path(SPMD_SOURCE_DIR) / "tests/data/vhlo";

std::string read_bytes(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::string bytecode_error(const std::string& bytes) {
  return testing::error_of([&] { import_bytes(bytes, "model"); });
}

// Text without a location has its line, bytecode the file.
void forget_files(Module& module) {
  for (const auto& fn : module.functions()) {
    walk(*fn, [&](OpId id) {
      LocationRef& location = fn->op(id).location;
      if (location != nullptr && location->file == module.source) location = nullptr;
    });
  }
}

void expect_same(const fs::path& text_file, const fs::path& bytecode_file) {
  Module text = import_file(text_file.string());
  Module bytecode = import_file(bytecode_file.string());
  forget_files(text);
  forget_files(bytecode);
  EXPECT_EQ(first_difference(text, bytecode, {.locations = true}), std::nullopt)
      << bytecode_file.filename();
}

// NAME of NAME.1.22.0.mlirbc.
std::string program_of(const fs::path& bytecode) {
  const std::string file = bytecode.filename().string();
  return file.substr(0, file.find('.'));
}

std::vector<fs::path> files_with(const std::string& extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(kVhlo)) {
    if (entry.path().extension() == extension) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(Vhlo, EveryVersionHoldsWhatTheTextSays) {
  std::set<std::string> programs;
  for (const fs::path& file : files_with(".mlirbc")) {
    const std::string program = program_of(file);
    if (program == "later_operations") continue;
    programs.insert(program);
    expect_same(kVhlo / (program + ".mlir"), file);
  }
  EXPECT_EQ(programs, (std::set<std::string>{"batched_indexing", "collectives", "constants",
                                             "control_flow", "digits_mlp", "elementwise", "linalg",
                                             "mesh_groups", "shardings", "tensors"}));
}

TEST(Vhlo, JaxExportHoldsWhatItsTextSays) {
  expect_same(kVhlo / "train_step.mlir", kVhlo / "train_step.jaxexport");
  expect_same(kVhlo / "with_derivative.mlir", kVhlo / "with_derivative.jaxexport");
  const Module step = import_file((kVhlo / "train_step.jaxexport").string());
  EXPECT_EQ(step.main().argument_info[0].name, "w");
  EXPECT_EQ(step.main().argument_info[0].aliased_result, 0);
  walk(step.main(), [&](OpId id) {
    const LocationRef& location = step.main().op(id).location;
    if (location == nullptr || location->file == step.source) return;
    EXPECT_FALSE(location->file.starts_with("/"))
        << location->file;  // of the machine it was made on
  });
}

TEST(Vhlo, UnsupportedOperationsAreListedTogether) {
  const std::string error = bytecode_error(read_bytes(kVhlo / "later_operations.1.22.0.mlirbc"));
  EXPECT_EQ(error.rfind("model: ", 0), 0u) << error;
  EXPECT_NE(error.find("operations are not supported:\n  vhlo."), error.npos) << error;
  for (const char* name : {"vhlo.infeed_v1: 1 time, byte ", "vhlo.recv_v2: 1 time, byte ",
                           "written by StableHLO_v1.22.0; versions 0.9.0 to 1.22.0 are read"}) {
    EXPECT_NE(error.find(name), error.npos) << error;
  }
}

TEST(Vhlo, OtherBytecodeIsRefused) {
  using namespace std::string_literals;
  EXPECT_NE(bytecode_error("ML\xefR\x13StableHLO_v9.0.0\0"s).find("the bytecode has version 9"),
            std::string::npos);
  EXPECT_NE(bytecode_error("ML\xefR\x0dStableHLO_v1.0.0\0"s).find("without its section 0"),
            std::string::npos);
  std::string other = read_bytes(kVhlo / "control_flow.1.22.0.mlirbc");
  for (size_t at = other.find("\0vhlo\0"s); at != other.npos; at = other.find("\0vhlo\0"s)) {
    other.replace(at + 1, 4, "func");
  }
  const std::string error = bytecode_error(other);
  EXPECT_NE(error.find("the bytecode holds the dialects builtin, func, expected vhlo"), error.npos)
      << error;
  EXPECT_NE(error.find("stablehlo-translate --serialize"), error.npos) << error;
}

// Whatever is cut off, the answer is an error that names a byte of the file, or the file.
TEST(Vhlo, EveryTruncationIsRefused) {
  for (const char* name : {"tensors.0.9.0.mlirbc", "shardings.0.14.0.mlirbc",
                           "shardings.1.22.0.mlirbc", "train_step.jaxexport"}) {
    const std::string whole = read_bytes(kVhlo / name);
    for (size_t size = 0; size < whole.size(); ++size) {
      const std::string error = bytecode_error(whole.substr(0, size));
      // What follows the program in a jax.export file is not read.
      if (error == "no error" && fs::path(name).extension() == ".jaxexport") continue;
      ASSERT_EQ(error.rfind("model", 0), 0u) << name << " cut to " << size << ": " << error;
    }
  }
}

TEST(Vhlo, DamagedFilesAreReadOrRefused) {
  testing::Random random(7);
  for (const char* name :
       {"tensors.1.22.0.mlirbc", "control_flow.0.12.0.mlirbc", "shardings.1.22.0.mlirbc",
        "mesh_groups.1.22.0.mlirbc", "collectives.0.9.0.mlirbc", "train_step.jaxexport"}) {
    const std::string whole = read_bytes(kVhlo / name);
    for (int i = 0; i < testing::repetitions(1000); ++i) {
      std::string damaged = whole;
      for (int64_t flips = random.pick(1, 4); flips > 0; --flips) {
        const auto at =
            static_cast<size_t>(random.pick(0, static_cast<int64_t>(damaged.size()) - 1));
        damaged[at] = static_cast<char>(random.pick(0, 255));
      }
      try {
        import_bytes(damaged, "model");
      } catch (const UserError& error) {
        ASSERT_NE(std::string(error.what()), "");
      }
    }
  }
}

}  // namespace
}  // namespace spmd
