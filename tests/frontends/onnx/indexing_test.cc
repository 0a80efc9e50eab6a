// Gathers at the edges of what ONNX's own cases try.
#include <gtest/gtest.h>

#include "tests/support/onnx_model.h"

namespace spmd::onnx_indexing_test {
namespace {

using testing::i64;
using testing::OnnxModel;

// GatherND of zeros of `data` at the vectors of `indices`.
Literal gather_nd(const Dims& data, const Literal& indices, int batch) {
  const auto sizes = [](const Dims& dims) {
    std::vector<std::string> texts;
    for (int64_t dim : dims) texts.push_back(std::to_string(dim));
    return texts;
  };
  OnnxModel model;
  model.input("x", sizes(data))
      .input("i", sizes(indices.type().shape), onnx::TensorProto::INT64)
      .output("y")
      .node("GatherND", {"x", "i"}, {"y"}, testing::integer_attribute("batch_dims", batch));
  const Literal x = Literal::splat({DType::kF32, data}, 0.0);
  return testing::run_onnx(model, {x, indices})[0];
}

// The specification: indices.shape[:-1] + data.shape[batch_dims + indices.shape[-1]:].
TEST(OnnxIndexing, GatherNdOfNothingHasItsShape) {
  const auto shape = [](const Dims& data, const Dims& indices, int batch) {
    return gather_nd(data, Literal::splat({DType::kS64, indices}, 0.0), batch).type().shape;
  };
  EXPECT_EQ(shape({0, 3, 2}, {0, 1}, 1), (Dims{0, 2}));  // no batches
  EXPECT_EQ(shape({0, 3, 2}, {0, 5, 2}, 1), (Dims{0, 5}));
  EXPECT_EQ(shape({4, 0, 3}, {4, 0, 1}, 2), (Dims{4, 0}));
  EXPECT_EQ(shape({0, 3, 2}, {0, 5, 0}, 1), (Dims{0, 5, 3, 2}));  // index vectors of nothing
  EXPECT_EQ(shape({4, 3, 2}, {0, 2}, 0), (Dims{0, 2}));           // no index vectors
  EXPECT_EQ(shape({2, 0, 2}, {2, 0, 1}, 1), (Dims{2, 0, 2}));     // in an empty dimension
}

// Index vectors of nothing choose all of their batch.
TEST(OnnxIndexing, GatherNdByVectorsOfNothingRepeatsTheData) {
  OnnxModel model;
  model.input("x", {"2", "2"})
      .input("i", {"2", "3", "0"}, onnx::TensorProto::INT64)
      .output("y")
      .node("GatherND", {"x", "i"}, {"y"}, testing::integer_attribute("batch_dims", 1));
  const std::vector<Literal> results =
      testing::run_onnx(model, {testing::f32({2, 2}, {1, 2, 3, 4}), i64({2, 3, 0}, {})});
  EXPECT_EQ(results[0], testing::f32({2, 3, 2}, {1, 2, 1, 2, 1, 2, 3, 4, 3, 4, 3, 4}));
}

}  // namespace
}  // namespace spmd::onnx_indexing_test
