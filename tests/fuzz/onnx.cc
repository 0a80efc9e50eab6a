#include <google/protobuf/text_format.h>

#include "frontends/onnx/import.h"
#include "frontends/onnx/onnx.pb.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

std::string model(const std::string& graph, const std::string& rest = {}) {
  onnx::ModelProto proto;
  const std::string text =
      "ir_version: 8 opset_import { version: 18 } graph { name: 'g' " + graph + " } " + rest;
  if (!google::protobuf::TextFormat::ParseFromString(text, &proto)) {
    throw InternalError("the seed's protobuf text does not parse");
  }
  return proto.SerializeAsString();
}

std::string value(const std::string& kind, const std::string& name, int element_type,
                  std::vector<int> dims) {
  std::string text = kind + " { name: '" + name +
                     "' type { tensor_type { elem_type: " + std::to_string(element_type) +
                     " shape { ";
  for (int dim : dims) text += "dim { dim_value: " + std::to_string(dim) + " } ";
  return text + "} } } } ";
}

std::vector<std::string> onnx_seeds() {
  const std::string weights =
      "initializer { name: 'w' data_type: 1 dims: 3 dims: 2 float_data: [1, 2, 3, 4, 5, 6] } ";
  const std::string dense = value("input", "x", 1, {4, 3}) + value("output", "y", 1, {4, 2}) +
                            weights +
                            "node { op_type: 'MatMul' input: 'x' input: 'w' output: 'h' } "
                            "node { op_type: 'Relu' input: 'h' output: 'y' }";
  const std::string shapes = value("input", "x", 1, {4, 3}) + value("output", "y", 1, {12}) +
                             "initializer { name: 's' data_type: 7 dims: 1 int64_data: -1 } "
                             "node { op_type: 'Shape' input: 'x' output: 'a' } "
                             "node { op_type: 'Transpose' input: 'x' output: 't' attribute { name: "
                             "'perm' type: INTS ints: "
                             "1 ints: 0 } } "
                             "node { op_type: 'Reshape' input: 't' input: 's' output: 'y' }";
  const std::string branch =
      value("input", "c", 9, {}) + value("input", "x", 1, {3}) + value("output", "y", 1, {3}) +
      "node { op_type: 'If' input: 'c' output: 'y' attribute { name: 'then_branch' type: GRAPH g { "
      "node { op_type: 'Abs' input: 'x' output: 'p' } " +
      value("output", "p", 1, {3}) +
      "} } attribute { name: 'else_branch' type: GRAPH g { node { op_type: 'Neg' input: 'x' "
      "output: "
      "'q' } " +
      value("output", "q", 1, {3}) + "} } }";
  const std::string call = value("input", "x", 1, {3}) + value("output", "y", 1, {3}) +
                           "node { op_type: 'Twice' domain: 'own' input: 'x' output: 'y' }";
  const std::string function =
      "opset_import { domain: 'own' version: 1 } functions { name: 'Twice' domain: 'own' input: "
      "'a' "
      "output: 'b' opset_import { version: 18 } node { op_type: 'Add' input: 'a' input: 'a' "
      "output: "
      "'b' } }";
  return {model(dense), model(shapes), model(branch), model(call, function)};
}

}  // namespace

FuzzTarget onnx_target() {
  return {"onnx",
          [](std::string_view bytes) { import_onnx(bytes, "fuzz"); },
          onnx_seeds,
          {"MatMul",   "Conv",   "Reshape", "Shape",   "Gather",    "Slice",
           "Concat",   "If",     "Loop",    "Scan",    "Constant",  "ConstantOfShape",
           "Range",    "Expand", "Einsum",  "Softmax", "Attention", "LayerNormalization",
           "axis",     "axes",   "perm",    "value",   "to",        "equation",
           "ij,jk->ik"}};
}

}  // namespace spmd::testing
