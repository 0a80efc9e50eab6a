#include "frontends/onnx/import.h"

#include <google/protobuf/arena.h>

#include "frontends/onnx/importer.h"
#include "frontends/parse_proto.h"

namespace spmd {

Module import_onnx(std::string_view bytes, const std::string& source,
                   const ImportOptions& options) {
  google::protobuf::Arena arena;
  const auto& model = parse_proto<onnx::ModelProto>(arena, bytes, source, "ONNX model");
  return onnx::Importer(model, source, options).run();
}

}  // namespace spmd
