#include "frontends/onnx/parameters.h"

#include <google/protobuf/arena.h>

#include <map>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/tensors.h"
#include "frontends/parse_proto.h"

namespace spmd {

struct OnnxParameters::Content {
  Content(std::string_view bytes, const std::string& source, const std::string& folder)
      : source(source),
        tensors(source, folder),
        model(parse_proto<onnx::ModelProto>(arena, bytes, source, "ONNX model")) {
    add(model.graph());
    // Where random numbers begin.
    converted.emplace(onnx::kRandomState, Literal(TensorType{DType::kU64, {2}}));
  }

  void add(const onnx::GraphProto& graph) {
    for (const onnx::TensorProto& tensor : graph.initializer()) {
      if (tensor.data_type() != onnx::TensorProto::STRING) protos.emplace(tensor.name(), &tensor);
    }
    for (const onnx::NodeProto& node : graph.node()) {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.has_g()) add(attribute.g());
      }
    }
  }

  std::string source;
  google::protobuf::Arena arena;
  onnx::Tensors tensors;
  const onnx::ModelProto& model;
  std::map<std::string, const onnx::TensorProto*> protos;
  std::map<std::string, Literal> converted;  // those that are not stored as they are used
};

OnnxParameters::OnnxParameters(std::string_view bytes, const std::string& source,
                               const std::string& folder)
    : content_(std::make_unique<Content>(bytes, source, folder)) {}
OnnxParameters::~OnnxParameters() = default;

std::vector<std::string> OnnxParameters::names() const {
  std::vector<std::string> names;
  for (const auto& [name, proto] : content_->protos) names.push_back(name);
  return names;
}

bool OnnxParameters::has(const std::string& name) const {
  return content_->protos.contains(name) || content_->converted.contains(name);
}

OnnxParameters::View OnnxParameters::get(const std::string& name) {
  auto found = content_->converted.find(name);
  if (found == content_->converted.end()) {
    const onnx::TensorProto& proto = *content_->protos.at(name);
    const std::string place = content_->source + ": initializer \"" + name + "\"";
    if (const auto bytes = content_->tensors.stored_bytes(proto, place)) {
      return {content_->tensors.type_of(proto, place), *bytes};
    }
    found = content_->converted.emplace(name, content_->tensors.read(proto, place)).first;
  }
  const Literal& literal = found->second;
  return {literal.type(), {literal.data(), literal.stored_bytes()}};
}

}  // namespace spmd
