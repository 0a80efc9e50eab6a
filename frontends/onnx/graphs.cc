// Graphs inside a node and functions of the model, written where they are used.
#include <algorithm>

#include "frontends/onnx/importer.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

std::string key_of(std::string_view domain, std::string_view name, std::string_view overload) {
  return fmt::format("{}:{}:{}", domain_of(domain), name, overload);
}

}  // namespace

std::string_view domain_of(std::string_view domain) { return domain == "ai.onnx" ? "" : domain; }

std::map<std::string, int, std::less<>> opsets_of(
    const google::protobuf::RepeatedPtrField<OperatorSetIdProto>& imports) {
  std::map<std::string, int, std::less<>> opsets;
  for (const OperatorSetIdProto& import : imports) {
    opsets[std::string(domain_of(import.domain()))] =
        static_cast<int>(std::clamp<int64_t>(import.version(), 0, 1 << 20));
  }
  return opsets;
}

Functions::Functions(const ModelProto& model) {
  for (const FunctionProto& function : model.functions()) {
    functions_[key_of(function.domain(), function.name(), function.overload())] = &function;
  }
}

const FunctionProto* Functions::find(const NodeProto& node) const {
  const auto found = functions_.find(key_of(node.domain(), node.op_type(), node.overload()));
  return found == functions_.end() ? nullptr : found->second;
}

std::vector<Value> Importer::emit_graph(const GraphProto& graph, const Scope& outer,
                                        const Frame& frame, const std::vector<Value>& inputs) {
  if (++depth_ > kMaxDepth) {
    throw UserError(source_,
                    fmt::format("graphs and functions nested more than {} deep", kMaxDepth),
                    "a function may not call itself");
  }
  Scope scope(&outer);
  add_initializers(graph, scope);
  for (int i = 0; i < graph.input_size() && static_cast<size_t>(i) < inputs.size(); ++i) {
    scope.redefine(graph.input(i).name(), inputs[static_cast<size_t>(i)]);
  }
  const LocationRef location = writer_.builder().location;
  emit_nodes(graph.node(), scope, frame);
  writer_.set_location(location);
  std::vector<Value> outputs;
  for (const ValueInfoProto& output : graph.output()) {
    const Value* value = scope.find(output.name());
    if (value == nullptr) {
      throw UserError(fmt::format("{}: graph \"{}\"", source_, graph.name()),
                      fmt::format("its output \"{}\" is defined nowhere", output.name()),
                      "the file is damaged: export it again");
    }
    outputs.push_back(*value);
  }
  --depth_;
  return outputs;
}

std::vector<Value> Importer::emit_function(const FunctionProto& function, Node& node) {
  if (++depth_ > kMaxDepth) {
    node.fail(fmt::format("graphs and functions nested more than {} deep", kMaxDepth),
              "a function may not call itself");
  }
  Frame frame;
  frame.opsets = opsets_of(function.opset_import());
  frame.function = function.name();
  frame.depth = node.frame().depth + 1;
  for (const AttributeProto& attribute : function.attribute_proto()) {
    frame.attributes[attribute.name()] = &attribute;
  }
  for (const std::string& name : function.attribute()) {
    if (const AttributeProto* attribute = node.find_attribute(name)) {
      frame.attributes[name] = attribute;
    }
  }
  for (const AttributeProto& attribute : function.attribute_proto()) {
    if (const AttributeProto* given = node.find_attribute(attribute.name())) {
      frame.attributes[attribute.name()] = given;
    }
  }
  Scope scope;
  for (int i = 0; i < function.input_size(); ++i) scope.define(function.input(i), node.value(i));
  emit_nodes(function.node(), scope, frame);
  std::vector<Value> outputs;
  for (const std::string& name : function.output()) {
    const Value* value = scope.find(name);
    if (value == nullptr) {
      node.fail(
          fmt::format("output \"{}\" of function {} is defined nowhere", name, function.name()),
          "the file is damaged: export it again");
    }
    outputs.push_back(*value);
  }
  --depth_;
  return outputs;
}

}  // namespace spmd::onnx
