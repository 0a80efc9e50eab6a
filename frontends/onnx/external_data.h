// Files beside a model that hold its large tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace spmd::onnx {

class MappedData {
 public:
  // Maps `location`, a relative path below `folder`. `place` and `what` (the tensor, with its size)
  // begin messages. Throws UserError when the path is absolute, leaves the folder (by "..", or by a
  // symbolic link), or no regular file can be read there.
  MappedData(const std::string& folder, const std::string& location, const std::string& place,
             const std::string& what);
  ~MappedData();
  MappedData(const MappedData&) = delete;
  MappedData& operator=(const MappedData&) = delete;

  const std::byte* data() const { return data_; }
  int64_t size() const { return size_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  const std::byte* data_ = nullptr;
  int64_t size_ = 0;
};

}  // namespace spmd::onnx
