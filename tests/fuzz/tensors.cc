#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "runtime/io/tensor_source.h"
#include "tests/fuzz/targets.h"

namespace spmd::testing {
namespace {

// Tensor files are mapped, so the bytes go through one.
class ScratchFile {
 public:
  ScratchFile()
      : path_(std::filesystem::temp_directory_path() /
              ("spmd-fuzz-" + std::to_string(::getpid()) + ".bin")) {}
  ~ScratchFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  std::string write(std::string_view bytes) const {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << bytes;
    return path_.string();
  }

 private:
  std::filesystem::path path_;
};

void read_tensors(std::string_view bytes) {
  static const ScratchFile file;
  const auto source = open_tensor_source(file.write(bytes));
  // Every byte of every tensor is in the file.
  volatile int sum = 0;
  for (const std::string& name : source->names()) {
    const TensorView tensor = source->get(name);
    for (int64_t i = 0; i < tensor.num_bytes(); ++i) sum = sum + static_cast<int>(tensor.data[i]);
  }
}

std::string safetensors(const std::string& header, size_t data) {
  std::string bytes(8, '\0');
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data, '\1');
}

std::string npy(const std::string& header, size_t data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 255);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + std::string(data, '\1');
}

std::vector<std::string> tensors_seeds() {
  return {
      safetensors(
          R"({"__metadata__":{"a":"b"},"w":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},)"
          R"("n":{"dtype":"I64","shape":[],"data_offsets":[24,32]}})",
          32),
      safetensors(R"({"e":{"dtype":"BF16","shape":[0,3],"data_offsets":[0,0]}})", 0),
      npy("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n", 24),
      npy("{'descr': '>i8', 'fortran_order': True, 'shape': (2, 2), }\n", 32)};
}

}  // namespace

FuzzTarget tensors_target() {
  return {"tensors",
          read_tensors,
          tensors_seeds,
          {"\"dtype\":\"F32\"", "\"shape\":[", "\"data_offsets\":[", "__metadata__", "U8", "BOOL",
           "F8_E4M3", "9223372036854775807", "18446744073709551615", "-1", "1e3", "'descr': '",
           "'shape': (", "True", "|b1", ">f8", "\x93NUMPY"}};
}

}  // namespace spmd::testing
