// NumPy's .npy files, versions 1 to 3.
#pragma once

#include <memory>
#include <string>

#include "runtime/io/mapped_file.h"
#include "runtime/tensor.h"

namespace spmd {

// Throws UserError. Arrays in Fortran order and in big-endian bytes are copied into C order and
// host bytes; others stay in the file's memory.
class NpyFile {
 public:
  explicit NpyFile(const std::string& path);
  const TensorView& tensor() const { return view_; }

 private:
  void reorder(int64_t size);

  MappedFile file_;
  TensorView view_;
  std::vector<std::byte> own_;
};

// bf16 and 8-bit floats have no NumPy type and are written as unsigned integers of their bits.
void write_npy(const std::string& path, const TensorView& tensor);

}  // namespace spmd
