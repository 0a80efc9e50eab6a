// Formats are recognised by content; what cannot be read is refused by name, with a remedy.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "frontends/frontend.h"
#include "ir/serialize.h"
#include "tests/frontends/hlo_text.h"
#include "tests/support/error_of.h"
#include "tests/support/gzip.h"

namespace spmd {
namespace {

using namespace std::string_literals;
using testing::gzipped;

const char* kAdd =
    "instructions { name: 'x' opcode: 'parameter' shape { element_type: F32 dimensions: 4 } id: 1 }"
    "instructions { name: 'y' opcode: 'add' shape { element_type: F32 dimensions: 4 } id: 2"
    "  operand_ids: 1 operand_ids: 1 }";

std::string add_module() {
  return hlo_module(kAdd, 2, {}, "entry_computation_name: 'main'").SerializeAsString();
}

std::string format_error(std::string_view bytes) {
  return testing::error_of([&] { import_bytes(bytes, "model"); });
}

std::string file_error(const std::string& path) {
  return testing::error_of([&] { import_file(path); });
}

size_t num_ops(const Module& module) { return module.main().num_live_ops(); }

TEST(Formats, HloModuleProtoIsReadBareAndWrapped) {
  EXPECT_EQ(num_ops(import_bytes(add_module(), "model")), 2u);
  hlo::HloProto proto;
  proto.mutable_hlo_module()->ParseFromString(add_module());
  EXPECT_EQ(num_ops(import_bytes(proto.SerializeAsString(), "model")), 2u);
  hlo::HloSnapshot snapshot;
  *snapshot.mutable_hlo() = proto;
  EXPECT_EQ(num_ops(import_bytes(snapshot.SerializeAsString(), "model")), 2u);
}

TEST(Formats, AnyFormatIsReadGzipped) {
  EXPECT_EQ(num_ops(import_bytes(gzipped(add_module()), "model")), 2u);
  const std::string twice = gzipped(add_module().substr(0, 20)) + gzipped(add_module().substr(20));
  EXPECT_EQ(num_ops(import_bytes(twice, "model")), 2u);
  EXPECT_EQ(num_ops(import_bytes(gzipped("module @m { func.func @main(%a: tensor<4xf32>) -> "
                                         "tensor<4xf32> { return %a : tensor<4xf32> } }"),
                                 "model")),
            1u);
}

TEST(Formats, StableHloTextIsRecognisedBehindCommentsAndBlanks) {
  const std::string text =
      "module @m { func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { return %a : "
      "tensor<4xf32> } }";
  EXPECT_EQ(num_ops(import_bytes(text, "model")), 1u);
  EXPECT_EQ(num_ops(import_bytes("// a comment\n\n  " + text, "model")), 1u);
}

TEST(Formats, OwnModulesAreRead) {
  const Module module = import_bytes(add_module(), "model");
  EXPECT_EQ(num_ops(import_bytes(serialize(module), "model")), 2u);
}

TEST(Formats, AnEmptyFileIsRefused) {
  EXPECT_EQ(format_error(""), "model: the file is empty\n  export the program again");
}

TEST(Formats, ATruncatedModuleSaysWhereItEnds) {
  const std::string whole = add_module();
  const std::string cut = whole.substr(0, whole.size() - 30);
  const std::string error = format_error(cut);
  EXPECT_NE(error.find("the HLO module is truncated"), error.npos) << error;
  EXPECT_NE(error.find("the file ends at byte " + std::to_string(cut.size())), error.npos) << error;
  EXPECT_NE(error.find("copy or export the file again"), error.npos) << error;
}

TEST(Formats, TruncatedGzipIsRefused) {
  const std::string whole = gzipped(add_module());
  EXPECT_NE(format_error(whole.substr(0, whole.size() / 2)).find("model: the gzip data ends early"),
            std::string::npos);
  std::string damaged = whole;
  damaged[whole.size() / 2] = static_cast<char>(damaged[whole.size() / 2] ^ 0x55);
  EXPECT_NE(format_error(damaged).find("model: "), std::string::npos);
}

TEST(Formats, ForeignFormatsAreRefusedByName) {
  struct Case {
    std::string bytes;
    const char* fact;
    const char* remedy;
  };
  const Case cases[] = {
      {"PK\x03\x04\x14\0\0\0"s, "is a zip archive", "StableHLO text"},
      {"\x3c\0\0\0\0\0\0\0{\"w\":{}}"s, "is a safetensors file", "--state"},
      {"\x93NUMPY\x01\0"s, "is a NumPy array", "--state"},
      {"\x80\x04\x95\x10\0\0\0\0\0\0\0"s, "is a Python pickle", "as_text()"},
      {"\x28\xb5\x2f\xfd\x04\0"s, "is compressed with zstd", "zstd -d"},
      {"hello, world\n", "is a text that is neither StableHLO nor HLO", "accepted are"},
      {"# a YAML file\nmesh: 4\n", "is a text that is neither StableHLO nor HLO", "accepted are"},
      {"\xff\xfe\xfd\xfc\xfb"s, "is in no format that is known here", "accepted are"},
  };
  for (const Case& c : cases) {
    const std::string error = format_error(c.bytes);
    EXPECT_EQ(error.rfind("model: "s + c.fact, 0), 0u) << error;
    EXPECT_NE(error.find(c.remedy), error.npos) << error;
  }
}

TEST(Formats, PathsThatAreNoReadableFilesAreRefused) {
  const auto folder = std::filesystem::temp_directory_path();
  EXPECT_NE(file_error(folder.string()).find("is a directory, expected a file"), std::string::npos);
  const std::string missing = (folder / "spmd-no-such-file.pb").string();
  EXPECT_EQ(file_error(missing),
            missing + ": cannot open the file: No such file or directory\n  check the path");
}

TEST(Formats, ExtensionsMeanNothing) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("spmd-formats-" + std::to_string(::getpid()) + ".mlir");
  std::ofstream(path, std::ios::binary) << add_module();
  EXPECT_EQ(num_ops(import_file(path.string())), 2u);
  std::filesystem::remove(path);
}

// Every prefix of a file, and every file with one byte changed, is read or refused.
TEST(Formats, DamagedFilesNeverDoMoreThanThrow) {
  const std::string whole = add_module();
  for (size_t size = 0; size < whole.size(); ++size) format_error(whole.substr(0, size));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int change : {0x01, 0x80, 0xff}) {
      std::string damaged = whole;
      damaged[at] = static_cast<char>(damaged[at] ^ change);
      format_error(damaged);
    }
  }
}

}  // namespace
}  // namespace spmd
