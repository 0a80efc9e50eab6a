// Small ONNX models for tests. What has no function here is protobuf text.
#pragma once

#include <google/protobuf/text_format.h>

#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/parameters.h"
#include "ir/evaluator.h"
#include "support/error.h"

namespace spmd::testing {

template <typename Proto>
Proto onnx_text(const std::string& text) {
  Proto proto;
  if (!google::protobuf::TextFormat::ParseFromString(text, &proto)) {
    throw InternalError("the test's protobuf text does not parse: " + text);
  }
  return proto;
}

// A node; `fields` is text of more of its fields.
inline onnx::NodeProto onnx_node(const std::string& op, const std::vector<std::string>& inputs,
                                 const std::vector<std::string>& outputs,
                                 const std::string& fields = {}) {
  auto node = onnx_text<onnx::NodeProto>(fields);
  node.set_op_type(op);
  for (const std::string& name : inputs) node.add_input(name);
  for (const std::string& name : outputs) node.add_output(name);
  return node;
}

// Attributes, as text of a node's fields.
inline std::string attribute(const std::string& name, const std::string& value) {
  return "attribute { name: '" + name + "' " + value + " } ";
}
inline std::string integer_attribute(const std::string& name, int64_t value) {
  return attribute(name, "i: " + std::to_string(value));
}
inline std::string float_attribute(const std::string& name, double value) {
  return attribute(name, "f: " + std::to_string(value));
}
inline std::string text_attribute(const std::string& name, const std::string& value) {
  return attribute(name, "s: '" + value + "'");
}
inline std::string integers_attribute(const std::string& name, const Dims& values) {
  std::string text;
  for (int64_t value : values) text += "ints: " + std::to_string(value) + " ";
  return attribute(name, text);
}

inline Literal f32(Dims shape, const std::vector<float>& values) {
  return Literal::of({DType::kF32, std::move(shape)}, values);
}
inline Literal i64(Dims shape, const std::vector<int64_t>& values) {
  return Literal::of({DType::kS64, std::move(shape)}, values);
}
inline Literal i32(Dims shape, const std::vector<int32_t>& values) {
  return Literal::of({DType::kS32, std::move(shape)}, values);
}
inline Literal u8(Dims shape, const std::vector<uint8_t>& values) {
  return Literal::of({DType::kU8, std::move(shape)}, values);
}
inline Literal booleans(Dims shape, const std::vector<uint8_t>& values) {
  return Literal::of({DType::kBool, std::move(shape)}, values);
}

class OnnxModel {
 public:
  explicit OnnxModel(int opset = 21) {
    proto_.set_ir_version(11);
    import_domain("", opset);
  }

  onnx::ModelProto& proto() { return proto_; }
  onnx::GraphProto& graph() { return *proto_.mutable_graph(); }

  OnnxModel& import_domain(const std::string& domain, int version) {
    onnx::OperatorSetIdProto& import = *proto_.add_opset_import();
    import.set_domain(domain);
    import.set_version(version);
    return *this;
  }
  // Sizes of dimensions that are no number are their names; "" is a dimension without either.
  OnnxModel& input(const std::string& name, const std::vector<std::string>& dims,
                   onnx::TensorProto::DataType type = onnx::TensorProto::FLOAT) {
    onnx::ValueInfoProto& info = *graph().add_input();
    info.set_name(name);
    onnx::TypeProto::Tensor& tensor = *info.mutable_type()->mutable_tensor_type();
    tensor.set_elem_type(type);
    tensor.mutable_shape();
    for (const std::string& dim : dims) {
      onnx::TensorShapeProto::Dimension& to = *tensor.mutable_shape()->add_dim();
      if (dim.empty()) continue;
      if (dim.find_first_not_of("0123456789") == std::string::npos) {
        to.set_dim_value(std::stoll(dim));
      } else {
        to.set_dim_param(dim);
      }
    }
    return *this;
  }
  OnnxModel& output(const std::string& name) {
    graph().add_output()->set_name(name);
    return *this;
  }
  OnnxModel& node(const std::string& op, const std::vector<std::string>& inputs,
                  const std::vector<std::string>& outputs, const std::string& fields = {}) {
    *graph().add_node() = onnx_node(op, inputs, outputs, fields);
    return *this;
  }
  OnnxModel& function(const std::string& text, const std::vector<onnx::NodeProto>& nodes) {
    onnx::FunctionProto& function = *proto_.add_functions();
    function = onnx_text<onnx::FunctionProto>(text);
    for (const onnx::NodeProto& node : nodes) *function.add_node() = node;
    return *this;
  }
  OnnxModel& initializer(const std::string& text) {
    *graph().add_initializer() = onnx_text<onnx::TensorProto>(text);
    return *this;
  }

  std::string bytes() const { return proto_.SerializeAsString(); }
  Module import(const ImportOptions& options = {}) const {
    return import_onnx(bytes(), "model", options);
  }

 private:
  onnx::ModelProto proto_;
};

// The arguments of an imported module: those given for the graph's inputs, then what the model's
// file has.
inline std::vector<Literal> onnx_arguments(const OnnxModel& model, const Module& module,
                                           std::vector<Literal> arguments,
                                           const std::string& folder = {}) {
  OnnxParameters parameters(model.bytes(), "model", folder);
  const auto& infos = module.main().argument_info;
  for (size_t i = arguments.size(); i < infos.size(); ++i) {
    const OnnxParameters::View view = parameters.get(infos[i].name);
    arguments.emplace_back(view.type, std::vector<std::byte>(view.bytes.begin(), view.bytes.end()));
  }
  return arguments;
}

// The model's outputs for these inputs, by the evaluator.
inline std::vector<Literal> run_onnx(const OnnxModel& model, std::vector<Literal> arguments,
                                     const ImportOptions& options = {}) {
  const Module module = model.import(options);
  return evaluate(module, onnx_arguments(model, module, std::move(arguments), options.folder));
}

inline std::vector<double> numbers(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i)
    values.push_back(literal.as_double(i));
  return values;
}

}  // namespace spmd::testing
