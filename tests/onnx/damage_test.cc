// Models that are damaged inside: whatever a graph says, it is read or refused with a UserError.
#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>

#include "frontends/onnx/import.h"
#include "frontends/onnx/onnx.pb.h"
#include "tests/differential/random.h"
#include "tests/onnx/onnx_case.h"
#include "tests/support/exported_program.h"

namespace spmd::testing {
namespace {

int64_t strange_number(Random& random) {
  static const std::vector<int64_t> kNumbers = {0,
                                                1,
                                                2,
                                                3,
                                                -1,
                                                -2,
                                                7,
                                                64,
                                                1 << 20,
                                                int64_t{1} << 40,
                                                std::numeric_limits<int64_t>::max(),
                                                std::numeric_limits<int64_t>::min()};
  return random.of(kNumbers);
}

// Changes one thing of a graph's nodes, inputs or initializers. `ops` are names of other ops.
class Damage {
 public:
  Damage(Random& random, const std::vector<std::string>& ops) : random_(random), ops_(ops) {}

  void change(onnx::GraphProto& graph) {
    switch (random_.below(4)) {
      case 0:
        if (graph.input_size() > 0) return change(*graph.mutable_input(below(graph.input_size())));
        break;
      case 1:
        if (graph.initializer_size() > 0) {
          return change(*graph.mutable_initializer(below(graph.initializer_size())));
        }
        break;
      default:
        break;
    }
    if (graph.node_size() > 0) change(*graph.mutable_node(below(graph.node_size())));
  }

 private:
  int below(int bound) { return static_cast<int>(random_.below(bound)); }

  void change(onnx::ValueInfoProto& input) {
    auto& tensor = *input.mutable_type()->mutable_tensor_type();
    if (random_.chance(30)) return tensor.set_elem_type(below(26));
    auto& shape = *tensor.mutable_shape();
    if (random_.chance(30) || shape.dim_size() == 0) {
      return shape.add_dim()->set_dim_value(random_.below(4));
    }
    shape.mutable_dim(below(shape.dim_size()))
        ->set_dim_value(random_.chance(80) ? random_.below(5) : strange_number(random_));
  }

  void change(onnx::TensorProto& tensor) {
    if (random_.chance(40)) return tensor.set_data_type(below(26));
    if (random_.chance(50) || tensor.dims_size() == 0) return tensor.add_dims(random_.below(3));
    tensor.set_dims(below(tensor.dims_size()), strange_number(random_));
  }

  void change(onnx::NodeProto& node) {
    if (node.attribute_size() > 0 && random_.chance(40)) {
      return change(*node.mutable_attribute(below(node.attribute_size())), node);
    }
    switch (random_.below(5)) {
      case 0:
        return node.set_op_type(random_.of(ops_));
      case 1:
        if (node.input_size() > 0) node.set_input(below(node.input_size()), "");
        return;
      case 2:
        if (node.input_size() > 1) node.mutable_input()->SwapElements(0, node.input_size() - 1);
        return;
      case 3:
        if (node.input_size() > 0) node.mutable_input()->RemoveLast();
        return;
      default:
        if (node.input_size() > 0) node.add_input(node.input(below(node.input_size())));
    }
  }

  void change(onnx::AttributeProto& attribute, onnx::NodeProto& node) {
    if (attribute.has_g() && random_.chance(80)) return change(*attribute.mutable_g());
    if (attribute.has_t() && random_.chance(80)) return change(*attribute.mutable_t());
    if (attribute.ints_size() > 0 && random_.chance(80)) {
      return attribute.set_ints(below(attribute.ints_size()), strange_number(random_));
    }
    switch (random_.below(4)) {
      case 0:
        return node.mutable_attribute()->RemoveLast();
      case 1:
        attribute.clear_i();
        return attribute.add_ints(strange_number(random_));
      case 2:
        return attribute.set_s("strange");
      default:
        return attribute.set_i(strange_number(random_));
    }
  }

  Random& random_;
  const std::vector<std::string>& ops_;
};

// Inputs of unknown size get one; what decides shapes gets zeros and ones.
std::string fault_of(const std::string& bytes) {
  ImportOptions options;
  for (int attempt = 0; attempt < 4; ++attempt) {
    try {
      import_onnx(bytes, "model", options);
      return {};
    } catch (const UnknownValue& unknown) {
      if (unknown.inputs().empty()) return {};
      for (const std::string& name : unknown.inputs()) {
        options.inputs[name] = Literal::splat({DType::kS64, {2}}, 1.0);
      }
    } catch (const UserError&) {
      return {};
    } catch (const std::exception& error) {
      return error.what();
    }
  }
  return {};
}

TEST(DamagedOnnxModels, AreReadOrRefused) {
  const std::vector<OnnxCase> cases = onnx_cases();
  if (cases.empty()) GTEST_SKIP() << "[SKIP] the package libonnx-testdata is not installed";
  const char* given = std::getenv("SPMD_ONNX_DAMAGE");  // how many models of each case
  const int rounds = given != nullptr ? std::atoi(given) : 2;
  std::vector<onnx::ModelProto> models;
  std::vector<std::string> ops;
  for (const OnnxCase& test_case : cases) {
    onnx::ModelProto model;
    ASSERT_TRUE(model.ParseFromString(read_file((test_case.folder / "model.onnx").string())));
    for (const onnx::NodeProto& node : model.graph().node()) ops.push_back(node.op_type());
    models.push_back(std::move(model));
  }
  Random random(1);
  for (int round = 0; round < rounds; ++round) {
    for (size_t i = 0; i < models.size(); ++i) {
      onnx::ModelProto model = models[i];
      for (int64_t changes = random.pick(1, 3); changes > 0; --changes) {
        Damage(random, ops).change(*model.mutable_graph());
      }
      const std::string fault = fault_of(model.SerializeAsString());
      EXPECT_EQ(fault, "") << cases[i].name << "\n" << model.DebugString().substr(0, 3000);
    }
  }
}

}  // namespace
}  // namespace spmd::testing
