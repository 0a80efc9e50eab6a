// Every program we have imports from both of its files, and both say the same.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "frontends/frontend.h"

namespace spmd {
namespace {

const std::filesystem::path kData = std::filesystem::path(SPMD_SOURCE_DIR) / "tests/data";

class Programs : public ::testing::TestWithParam<const char*> {
 protected:
  std::filesystem::path folder() const { return kData / "models" / GetParam(); }
  Module from_proto() const { return import_file((folder() / "model.hlo.pb").string()); }
  Module from_text() const { return import_file((folder() / "model.mlir").string()); }
};

std::string sharding_text(const ShardingRef& sharding, const Mesh& mesh) {
  return sharding ? sharding->to_string(mesh) : "none";
}

// Letters and digits only, in lower case: how names are compared.
std::vector<std::string> words(const std::string& name) {
  std::vector<std::string> result(1);
  for (char c : name) {
    if (std::isalnum(static_cast<unsigned char>(c))) {
      result.back() += c;
    } else if (!result.back().empty()) {
      result.emplace_back();
    }
  }
  if (result.back().empty()) result.pop_back();
  return result;
}

TEST_P(Programs, HaveTheSameSignatureInBothFiles) {
  const Module proto = from_proto();
  const Module text = from_text();
  EXPECT_EQ(proto.mesh, text.mesh);
  EXPECT_EQ(proto.mesh_name, text.mesh_name);
  const Function &a = proto.main(), &b = text.main();
  ASSERT_EQ(a.arguments().size(), b.arguments().size());
  for (size_t i = 0; i < a.arguments().size(); ++i) {
    SCOPED_TRACE(testing::Message() << "argument " << i);
    EXPECT_EQ(a.type(a.arguments()[i]), b.type(b.arguments()[i]));
    EXPECT_EQ(sharding_text(a.value(a.arguments()[i]).sharding, proto.mesh),
              sharding_text(b.value(b.arguments()[i]).sharding, text.mesh));
    EXPECT_EQ(a.argument_info[i].aliased_result, b.argument_info[i].aliased_result);
    EXPECT_EQ(a.argument_info[i].donated, b.argument_info[i].donated);
  }
  ASSERT_EQ(a.results().size(), b.results().size());
  for (size_t i = 0; i < a.results().size(); ++i) {
    SCOPED_TRACE(testing::Message() << "result " << i);
    EXPECT_EQ(a.type(a.results()[i]), b.type(b.results()[i]));
    EXPECT_EQ(sharding_text(a.result_info[i].sharding, proto.mesh),
              sharding_text(b.result_info[i].sharding, text.mesh));
  }
}

TEST_P(Programs, NameTheirArgumentsAsTheSignatureDoes) {
  const Module module = from_proto();
  std::ifstream file(folder() / "signature.json");
  const auto arguments = nlohmann::json::parse(file).at("arguments");
  const Function& main = module.main();
  ASSERT_EQ(main.argument_info.size(), arguments.size());
  for (size_t i = 0; i < arguments.size(); ++i) {
    EXPECT_EQ(words(main.argument_info[i].name), words(arguments[i].at("name")));
    EXPECT_EQ(main.argument_info[i].aliased_result, arguments[i].value("result", -1));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Programs,
                         ::testing::Values("digits_cnn", "digits_mlp", "dropout_mlp", "gpt_dp_tp",
                                           "gpt_fsdp", "gru_scan", "llama_scan", "moe",
                                           "ring_shard_map"),
                         [](const auto& info) { return std::string(info.param); });

struct LargeProgram {
  const char* name;
  size_t arguments, results;
  const char* mesh;
};

class LargePrograms : public ::testing::TestWithParam<LargeProgram> {};

TEST_P(LargePrograms, Import) {
  const LargeProgram& expected = GetParam();
  const Module module =
      import_file((kData / "large" / (std::string(expected.name) + ".hlo.pb.gz")).string());
  EXPECT_EQ(module.main().arguments().size(), expected.arguments);
  EXPECT_EQ(module.main().results().size(), expected.results);
  EXPECT_EQ(module.mesh.to_string(), expected.mesh);
  for (ValueId argument : module.main().arguments()) {
    EXPECT_NE(module.main().value(argument).sharding, nullptr);
  }
}

INSTANTIATE_TEST_SUITE_P(All, LargePrograms,
                         ::testing::Values(LargeProgram{"gpt2-124m-fsdp4", 447, 446, "x=4"},
                                           LargeProgram{"gpt2-xl-dp1", 1743, 1742, "x=1"},
                                           LargeProgram{"gpt2-xl-fsdp2", 1743, 1742, "x=2"},
                                           LargeProgram{"gpt2-xl-fsdp2-scan", 51, 50, "x=2"},
                                           LargeProgram{"gpt3-175b-fsdp64", 3471, 3470, "x=64"},
                                           LargeProgram{"llama-7b-dp1-fwdbwd", 229, 228, "x=1"},
                                           LargeProgram{"llama-7b-fsdp2", 684, 683, "x=2"}),
                         [](const auto& info) {
                           std::string name = info.param.name;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace spmd
