// Shardings that an ONNX model (IR version 11) has for its nodes' inputs and outputs.
#pragma once

#include <optional>
#include <string>

#include "sharding/spec/tile_assignment.h"

namespace spmd::onnx {

class ModelProto;
class NodeProto;
class ShardingSpecProto;

// The annotations of a model's first device configuration. Others are for other numbers of devices.
class Shardings {
 public:
  // Finds the mesh on which all annotations can stand. Throws UserError when there is none, or one
  // of them is malformed.
  Shardings(const ModelProto& model, const std::string& source);

  // No axes when the model has no annotations.
  const Mesh& mesh() const { return mesh_; }

  // What a node says of one of its inputs or outputs; null when it says nothing.
  ShardingRef find(const NodeProto& node, const std::string& tensor, int64_t rank,
                   const std::string& place) const;

 private:
  std::string configuration_;  // empty: the model has none
  Mesh mesh_;
};

}  // namespace spmd::onnx
