#include "runtime/io/tensor_source.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include "runtime/io/foreign_tensors.h"
#include "runtime/io/npy.h"
#include "runtime/io/safetensors.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd {
namespace {

namespace fs = std::filesystem;

class SafetensorsSource : public TensorSource {
 public:
  explicit SafetensorsSource(const std::string& path) : file_(path) {}
  const std::string& path() const override { return file_.path(); }
  std::vector<std::string> names() const override { return file_.names(); }

 protected:
  const TensorView* find(const std::string& name) override { return file_.find(name); }

 private:
  SafetensorsFile file_;
};

class NpySource : public TensorSource {
 public:
  explicit NpySource(const std::string& path)
      : path_(path), name_(fs::path(path).stem().string()), file_(path) {}
  const std::string& path() const override { return path_; }
  std::vector<std::string> names() const override { return {name_}; }

 protected:
  const TensorView* find(const std::string& name) override {
    return name == name_ ? &file_.tensor() : nullptr;
  }

 private:
  std::string path_, name_;
  NpyFile file_;
};

bool begins_as_npy(const MappedFile& file) {
  return file.size() >= 6 &&
         std::string_view(reinterpret_cast<const char*>(file.data()), 6) == "\x93NUMPY";
}

std::unique_ptr<TensorSource> open_file(const std::string& path) {
  const MappedFile file(path);
  if (begins_as_npy(file)) return std::make_unique<NpySource>(path);
  refuse_foreign_tensors(file);
  return std::make_unique<SafetensorsSource>(path);
}

// Files are opened when one of their tensors is used.
class FolderSource : public TensorSource {
 public:
  explicit FolderSource(const std::string& path) : path_(path) {
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path)) {
      const std::string extension = entry.path().extension().string();
      if (extension == ".npy") tensors_[entry.path().stem().string()] = entry.path().string();
      if (extension == ".safetensors") files.push_back(entry.path().string());
    }
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) {
      open_[file] = std::make_unique<SafetensorsSource>(file);
      for (const std::string& name : open_[file]->names())
        if (!tensors_.emplace(name, file).second)
          throw UserError(path, fmt::format("two files hold a tensor {}", name),
                          "keep one of them in the folder");
    }
    if (tensors_.empty()) refuse_other_files();
    if (tensors_.empty())
      throw UserError(path, "a folder without .npy and .safetensors files",
                      "give a file of tensors, or a folder of them");
  }

  const std::string& path() const override { return path_; }
  std::vector<std::string> names() const override {
    std::vector<std::string> names;
    for (const auto& [name, file] : tensors_) names.push_back(name);
    return names;
  }

 protected:
  const TensorView* find(const std::string& name) override {
    const auto it = tensors_.find(name);
    if (it == tensors_.end()) return nullptr;
    std::unique_ptr<TensorSource>& source = open_[it->second];
    if (!source) source = std::make_unique<NpySource>(it->second);
    found_[name] = source->get(name);
    return &found_[name];
  }

 private:
  void refuse_other_files() const {
    std::vector<std::string> files;
    for (const fs::directory_entry& entry : fs::directory_iterator(path_))
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    std::sort(files.begin(), files.end());
    for (const std::string& file : files) refuse_foreign_tensors(MappedFile(file));
  }

  std::string path_;
  std::map<std::string, std::string> tensors_;  // name -> file
  std::map<std::string, std::unique_ptr<TensorSource>> open_;
  std::map<std::string, TensorView> found_;
};

}  // namespace

TensorView TensorSource::get(const std::string& name) {
  if (const TensorView* tensor = find(name)) return *tensor;
  const std::vector<std::string> all = names();
  std::string remedy = fmt::format("it holds {} tensors", all.size());
  if (const auto near = nearest(name, all)) {
    remedy += ", the nearest is " + *near;
  } else if (!all.empty()) {
    remedy += ": " + all[0];
    for (size_t i = 1; i < std::min<size_t>(all.size(), 5); ++i) remedy += ", " + all[i];
    if (all.size() > 5) remedy += ", ...";
  }
  throw UserError(path(), fmt::format("holds no tensor {}", name), remedy);
}

std::unique_ptr<TensorSource> open_tensor_source(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return std::make_unique<FolderSource>(path);
  return open_file(path);
}

}  // namespace spmd
