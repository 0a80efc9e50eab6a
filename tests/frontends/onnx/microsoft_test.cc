// What ONNX Runtime's ops can ask for that is not supported is refused by name. Their values are
// tests/data/onnx.
#include <gtest/gtest.h>

#include "tests/support/error_of.h"
#include "tests/support/onnx_model.h"

namespace spmd::onnx_microsoft_test {
namespace {

using testing::integer_attribute;
using testing::OnnxModel;
using testing::text_attribute;

// One node, of which input i has the shape shapes[i] (none: it is left out).
struct Operand {
  std::vector<std::string> shape;
  onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT;
  bool absent = false;
};
const Operand kAbsent{{}, onnx::TensorProto::FLOAT, true};

OnnxModel model_of(const std::string& op, const std::vector<Operand>& operands,
                   const std::string& fields, const std::vector<std::string>& outputs = {"y"}) {
  OnnxModel model;
  std::vector<std::string> names;
  for (size_t i = 0; i < operands.size(); ++i) {
    names.push_back(operands[i].absent ? "" : "x" + std::to_string(i));
    if (!operands[i].absent) model.input(names.back(), operands[i].shape, operands[i].type);
  }
  model.import_domain("com.microsoft", 1)
      .node(op, names, outputs, "name: 'n' domain: 'com.microsoft' " + fields);
  for (const std::string& output : outputs) {
    if (!output.empty()) model.output(output);
  }
  return model;
}

void expect_error(
    const OnnxModel& model, const std::string& fact,
    const std::string& remedy = "which is not supported\n  export the model without it",
    const ImportOptions& options = {}) {
  const std::string found = testing::error_of([&] { model.import(options); });
  EXPECT_NE(found.find(": " + fact), std::string::npos) << found;
  EXPECT_NE(found.find(remedy), std::string::npos) << found;
}

constexpr const char* kHeads = "attribute { name: 'num_heads' i: 2 } ";
constexpr auto kInt32 = onnx::TensorProto::INT32;
constexpr auto kBytes = onnx::TensorProto::UINT8;

TEST(OnnxMicrosoft, AttentionRefusesWhatItLeavesOut) {
  const std::vector<Operand> operands = {{{"2", "4", "8"}}, {{"8", "24"}}, {{"24"}}};
  expect_error(model_of("Attention", operands, kHeads + integer_attribute("do_rotary", 1)),
               "its attribute do_rotary");
  expect_error(
      model_of("Attention", operands, kHeads + integer_attribute("past_present_share_buffer", 1)),
      "a cache that past and present share");
  std::vector<Operand> masked = operands;
  masked.push_back({{"8"}, kInt32});
  expect_error(model_of("Attention", masked, kHeads), "a mask of cumulated sequence lengths");
  masked.back().shape = {"5"};
  expect_error(model_of("Attention", masked, kHeads), "its mask does not fit the batch", "");
  expect_error(model_of("Attention", operands, ""),
               "its attribute num_heads is missing, expected an integer", "");
  expect_error(model_of("Attention", operands, integer_attribute("num_heads", 3)),
               "its heads do not divide its inputs", "");
}

TEST(OnnxMicrosoft, MultiHeadAttentionRefusesWhatItLeavesOut) {
  const Operand flat{{"2", "3", "8"}};
  expect_error(model_of("MultiHeadAttention", {flat, flat, flat}, kHeads, {"y", "", "", "qk"}),
               "its output qk");
  expect_error(
      model_of("MultiHeadAttention",
               {flat, flat, flat, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, {{"1"}, kInt32}},
               kHeads),
      "a cache that past and present share");
  expect_error(model_of("MultiHeadAttention",
                        {{{"2", "3", "2", "3", "4"}}, kAbsent, kAbsent, {{"24"}}}, kHeads),
               "a bias beside packed or cached keys and values");
  expect_error(model_of("MultiHeadAttention", {{{"2", "3", "2", "2", "4"}}}, kHeads),
               "its packed input does not fit", "");
  expect_error(model_of("MultiHeadAttention", {flat}, kHeads), "its input 1 is missing", "");
}

TEST(OnnxMicrosoft, GroupQueryAttentionRefusesWhatItLeavesOut) {
  const std::vector<Operand> operands = {
      {{"2", "3", "32"}}, {{"2", "3", "16"}}, {{"2", "3", "16"}}, kAbsent, kAbsent,
      {{"2"}, kInt32},    {{}, kInt32}};
  const std::string heads =
      "attribute { name: 'num_heads' i: 4 } "
      "attribute { name: 'kv_num_heads' i: 2 } ";
  const auto expect = [&](const std::string& fields, const std::string& fact) {
    expect_error(model_of("GroupQueryAttention", operands, heads + fields), fact);
  };
  expect(text_attribute("k_quant_type", "PER_TENSOR"),
         "a quantised cache (its attribute k_quant_type)");
  expect(text_attribute("v_quant_type", "PER_CHANNEL"),
         "a quantised cache (its attribute v_quant_type)");
  expect(integer_attribute("sliding_window_cache", 1), "its attribute sliding_window_cache");
  expect(integer_attribute("qk_output", 1), "its output output_qk");
  // The length of the cache is that of the longest sequence.
  expect_error(model_of("GroupQueryAttention", operands, heads),
               "its input 6 (\"x6\") decides a shape or a structure and must be known when the "
               "program is compiled, but depends on the input x6",
               "compile for one value of it: --set-input x6=VALUE");
  ImportOptions options;
  options.inputs["x6"] = testing::i32({}, {2});
  expect_error(model_of("GroupQueryAttention", operands, heads),
               "its total_sequence_length is less than its queries", "", options);
}

TEST(OnnxMicrosoft, RotaryEmbeddingRefusesWhatItLeavesOut) {
  const std::vector<Operand> operands = {
      {{"2", "3", "8"}}, {{"1"}, onnx::TensorProto::INT64}, {{"9", "2"}}, {{"9", "2"}}};
  expect_error(model_of("RotaryEmbedding", operands, testing::float_attribute("scale", 2)),
               "its attribute scale");
  expect_error(model_of("RotaryEmbedding", operands, integer_attribute("is_packed_batching", 1)),
               "its attribute is_packed_batching");
}

TEST(OnnxMicrosoft, QuantisedProductsRefuseWhatTheyLeaveOut) {
  const auto bits = [](int64_t count, int64_t n = 6) {
    return integer_attribute("K", 32) + integer_attribute("N", n) +
           integer_attribute("block_size", 16) + integer_attribute("bits", count);
  };
  std::vector<Operand> operands = {{{"3", "32"}}, {{"6", "2", "8"}, kBytes}, {{"6", "2"}}};
  expect_error(model_of("MatMulNBits", operands, bits(3)), "weights of 3 bits");
  expect_error(
      model_of("MatMulNBits", operands, bits(4) + integer_attribute("weight_prepacked", 1)),
      "its attribute weight_prepacked");
  expect_error(model_of("MatMulNBits", operands, bits(4, 7)),
               "its weights do not fit its attributes N, K, bits and block_size", "");
  operands[2].shape = {"6", "3"};
  expect_error(model_of("MatMulNBits", operands, bits(4)), "its scales do not fit its blocks", "");
  operands[2].shape = {"6", "2"};
  operands.push_back({{"6", "2"}, kBytes});
  expect_error(model_of("MatMulNBits", operands, bits(4)), "its zero points do not fit its blocks",
               "");
  operands.back() = kAbsent;
  operands.push_back({{"32"}, kInt32});
  expect_error(model_of("MatMulNBits", operands, bits(4)),
               "rows in another order (its input g_idx)");
  expect_error(model_of("MatMulIntegerToFloat",
                        {{{"3", "4"}, kBytes}, {{"4", "5"}, kBytes}, {{"4"}}, {{"5"}}}, ""),
               "one scale for each row of its input A");
}

TEST(OnnxMicrosoft, FusedGemmKnowsActivationsByName) {
  expect_error(
      model_of("FusedGemm", {{{"2", "3"}}, {{"3", "4"}}}, text_attribute("activation", "Swirl")),
      "activation \"Swirl\"");
}

}  // namespace
}  // namespace spmd::onnx_microsoft_test
