// safetensors files: an 8-byte length, a JSON header, and the tensors' bytes.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/mapped_file.h"
#include "runtime/tensor.h"

namespace spmd {

class SafetensorsFile {
 public:
  // Reads and checks the whole header; tensors are read when they are used. Throws UserError.
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return file_.path(); }
  // In the order of their data.
  std::vector<std::string> names() const;
  // The tensor's bytes, in the file's memory; null when there is none of that name.
  const TensorView* find(const std::string& name) const;
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void check_layout(const std::byte* data, int64_t data_size) const;

  MappedFile file_;
  std::map<std::string, TensorView> tensors_;
  std::map<std::string, std::string> metadata_;
};

// What a file of these tensors would begin with; then write() each tensor in the same order.
// Nothing is left behind before finish().
class SafetensorsWriter {
 public:
  struct Entry {
    std::string name;
    plan::DType dtype;
    std::vector<int64_t> shape;
  };
  SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                    const std::map<std::string, std::string>& metadata = {});
  void write(const TensorView& tensor);
  void finish();

 private:
  AtomicFile file_;
  std::vector<Entry> entries_;
  size_t next_ = 0;
};

}  // namespace spmd
