#include "tests/passes/model_programs.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "frontends/frontend.h"

namespace spmd::testing {
namespace {

const std::filesystem::path kModels = std::filesystem::path(SPMD_SOURCE_DIR) / "tests/data/models";

std::string read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

struct Tensor {
  const char* data;
  int64_t bytes;
};

// A safetensors file: the size of a JSON header, the header, the data.
class Safetensors {
 public:
  explicit Safetensors(const std::filesystem::path& path) : content_(read(path)) {
    uint64_t size = 0;
    std::memcpy(&size, content_.data(), sizeof size);
    header_ = nlohmann::json::parse(content_.substr(8, size));
    data_ = content_.data() + 8 + size;
  }
  bool contains(const std::string& name) const { return header_.contains(name); }
  Tensor get(const std::string& name) const {
    const auto& offsets = header_.at(name).at("data_offsets");
    const int64_t begin = offsets[0], end = offsets[1];
    return {data_ + begin, end - begin};
  }

 private:
  std::string content_;
  nlohmann::json header_;
  const char* data_ = nullptr;
};

Literal literal_of(const TensorType& type, const Tensor& tensor) {
  if (tensor.bytes < type.num_bytes()) throw std::runtime_error("a tensor is too short");
  Literal literal(type);
  // Of a batch file this is the first step.
  std::memcpy(literal.mutable_data(), tensor.data, static_cast<size_t>(type.num_bytes()));
  return literal;
}

}  // namespace

std::vector<std::string> model_names() {
  std::vector<std::string> names;
  if (!std::filesystem::exists(kModels)) return names;
  for (const auto& entry : std::filesystem::directory_iterator(kModels)) {
    if (std::filesystem::exists(entry.path() / "model.mlir")) {
      names.push_back(entry.path().filename().string());
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

ModelProgram load_model(const std::string& name) {
  const std::filesystem::path folder = kModels / name;
  ModelProgram program;
  program.module = import_file((folder / "model.mlir").string());
  const Safetensors state(folder / "state.safetensors"), batches(folder / "batches.safetensors");
  const auto signature = nlohmann::json::parse(read(folder / "signature.json"));
  const Function& main = program.module.main();
  for (const auto& argument : signature.at("arguments")) {
    const auto number = program.arguments.size();
    const TensorType& type = main.type(main.arguments().at(number));
    const std::string key = argument.at("name");
    program.arguments.push_back(
        literal_of(type, state.contains(key) ? state.get(key) : batches.get(key)));
  }
  return program;
}

}  // namespace spmd::testing
