#include "runtime/io/foreign_tensors.h"

#include <filesystem>
#include <string_view>

#include "support/error.h"

namespace spmd {
namespace {

// Of the ZIP file format: a local file header, whose name's length is at 26 and whose name is at
// 30.
constexpr std::string_view kZip = "PK\x03\x04";

std::string_view first_entry_of_zip(std::string_view bytes) {
  if (bytes.size() < 30) return {};
  const size_t length = static_cast<unsigned char>(bytes[26]) |
                        static_cast<size_t>(static_cast<unsigned char>(bytes[27])) << 8;
  return bytes.substr(30, length);
}

[[noreturn]] void refuse_zip(const std::string& path, std::string_view bytes) {
  const std::string_view entry = first_entry_of_zip(bytes);
  const std::string stem = std::filesystem::path(path).stem().string();
  if (entry.ends_with(".npy"))
    throw UserError(path, "is a NumPy archive (.npz), which is not read",
                    fmt::format("unzip it and give the folder of .npy files: unzip {} -d {}; or in "
                                "Python:\n  safetensors.numpy.save_file(dict(numpy.load(\"{}\")), "
                                "\"{}.safetensors\")",
                                path, stem, path, stem));
  if (entry.find("/data.pkl") != std::string_view::npos ||
      entry.find("/.format_version") != std::string_view::npos)
    throw UserError(path, "is a PyTorch file, which is not read",
                    fmt::format("in Python: safetensors.torch.save_file(torch.load(\"{}\"), "
                                "\"{}.safetensors\")",
                                path, stem));
  throw UserError(path, "is a ZIP archive, which is not read",
                  "unzip it, and give a safetensors or .npy file, or a folder of them");
}

bool is_pickle(std::string_view bytes) {
  return bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5;
}

}  // namespace

void refuse_foreign_tensors(const MappedFile& file) {
  const std::string_view bytes(reinterpret_cast<const char*>(file.data()),
                               static_cast<size_t>(file.size()));
  const std::string& path = file.path();
  // A safetensors file may begin with any length of its header, which begins after it.
  if (bytes.size() > 8 && bytes[8] == '{') return;
  constexpr const char* kWrite =
      "write the tensors with safetensors.numpy.save_file, or one with numpy.save";
  if (bytes.starts_with(kZip)) refuse_zip(path, bytes);
  if (bytes.starts_with("\x89HDF\r\n\x1a\n"))
    throw UserError(path, "is an HDF5 file, which is not read", kWrite);
  if (bytes.starts_with("\x1f\x8b"))
    throw UserError(path, "is compressed by gzip, and tensors are read as they are", "gunzip it");
  if (bytes.starts_with("\x28\xb5\x2f\xfd"))
    throw UserError(path, "is compressed by zstd, and tensors are read as they are", "unzstd it");
  if (is_pickle(bytes)) throw UserError(path, "is a Python pickle, which is not read", kWrite);
}

}  // namespace spmd
