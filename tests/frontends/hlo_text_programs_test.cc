// A program's HLO text and its HloModuleProto import to the identical module.
#include <gtest/gtest.h>

#include "frontends/frontend.h"
#include "ir/compare.h"

namespace spmd {
namespace {

const std::string kTestData = std::string(SPMD_SOURCE_DIR) + "/tests/data/";

// An op without metadata is located at its line of the text, where a proto has none.
void forget_lines(Module& module, const std::string& source) {
  for (const auto& fn : module.functions()) {
    for (size_t i = 0; i < fn->num_op_ids(); ++i) {
      LocationRef& location = fn->op(static_cast<OpId>(i)).location;
      if (location == nullptr || location->file != source) continue;
      EXPECT_GT(location->line, 0);
      location = std::make_shared<const Location>(Location{location->name, {}, 0});
    }
  }
}

void expect_identical(const std::string& text_file, const std::string& proto_file) {
  Module text = import_file(text_file);
  const Module proto = import_file(proto_file);
  EXPECT_EQ(first_difference(text, proto), std::nullopt);
  forget_lines(text, text_file);
  CompareOptions with_locations;
  with_locations.locations = true;
  EXPECT_EQ(first_difference(text, proto, with_locations), std::nullopt);
}

class HloTextPrograms : public ::testing::TestWithParam<const char*> {};

TEST_P(HloTextPrograms, ImportAsTheirProtosDo) {
  const std::string name = GetParam();
  expect_identical(kTestData + "hlo_text/" + name + ".hlo.txt.gz",
                   kTestData + "models/" + name + "/model.hlo.pb");
}

INSTANTIATE_TEST_SUITE_P(All, HloTextPrograms,
                         ::testing::Values("digits_cnn", "digits_mlp", "dropout_mlp", "gpt_dp_tp",
                                           "gpt_fsdp", "gru_scan", "llama_scan", "moe",
                                           "ring_shard_map"),
                         [](const auto& info) { return std::string(info.param); });

class HloTextSpellings : public ::testing::TestWithParam<const char*> {};

TEST_P(HloTextSpellings, ImportAsWhatXlaReadsFromThem) {
  const std::string path = kTestData + "hlo_text/" + GetParam();
  expect_identical(path + ".hlo.txt", path + ".hlo.pb");
}

INSTANTIATE_TEST_SUITE_P(All, HloTextSpellings,
                         ::testing::Values("spellings", "named_shardings", "device_order",
                                           "nested_computations"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace spmd
