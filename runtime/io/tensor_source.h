// TensorSource: named tensors in a file or folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor.h"

namespace spmd {

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual const std::string& path() const = 0;
  virtual std::vector<std::string> names() const = 0;
  // The tensor; its memory lives as long as the source. Throws UserError that lists the nearest
  // names when there is none.
  TensorView get(const std::string& name);

 protected:
  // Null when there is no such tensor.
  virtual const TensorView* find(const std::string& name) = 0;
};

// A .safetensors file, a .npy file (one tensor, named by the file's stem), or a folder of both.
// The format is known by content. Throws UserError.
std::unique_ptr<TensorSource> open_tensor_source(const std::string& path);

}  // namespace spmd
