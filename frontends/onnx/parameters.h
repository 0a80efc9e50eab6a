// The values that an ONNX model's file has for the arguments of its program.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/literal.h"

namespace spmd {

class OnnxParameters {
 public:
  struct View {
    TensorType type;
    std::span<const std::byte> bytes;  // row-major; 4-bit integers one a byte
  };

  // `bytes` (a ModelProto) need not outlive the object; external data lies in `folder` and is
  // mapped when it is first asked for. Throws UserError.
  OnnxParameters(std::string_view bytes, const std::string& source, const std::string& folder);
  ~OnnxParameters();
  OnnxParameters(const OnnxParameters&) = delete;
  OnnxParameters& operator=(const OnnxParameters&) = delete;

  std::vector<std::string> names() const;
  bool has(const std::string& name) const;
  // Of a name that it has; valid as long as the object. Throws UserError when the tensor is damaged
  // or its external data cannot be read.
  View get(const std::string& name);

 private:
  struct Content;
  std::unique_ptr<Content> content_;
};

}  // namespace spmd
