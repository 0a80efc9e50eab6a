#include "tests/support/exported_program.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

namespace spmd::testing {
namespace {

using nlohmann::json;

DType dtype_of(const std::string& name) {
  static const std::map<std::string, DType> kTypes{
      {"BOOL", DType::kBool}, {"I8", DType::kS8},   {"U8", DType::kU8},     {"I16", DType::kS16},
      {"U16", DType::kU16},   {"I32", DType::kS32}, {"U32", DType::kU32},   {"I64", DType::kS64},
      {"U64", DType::kU64},   {"F16", DType::kF16}, {"BF16", DType::kBF16}, {"F32", DType::kF32},
      {"F64", DType::kF64}};
  return kTypes.at(name);
}

// Row `index` of the leading dimension.
Literal row_of(const Literal& stacked, int index) {
  Dims shape(stacked.type().shape.begin() + 1, stacked.type().shape.end());
  const TensorType type = stacked.type().with_shape(shape);
  const auto size = static_cast<size_t>(type.num_bytes());
  const std::byte* from = stacked.data() + static_cast<size_t>(index) * size;
  return Literal(type, std::vector<std::byte>(from, from + size));
}

}  // namespace

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

std::map<std::string, Literal> read_safetensors(const std::string& path) {
  const std::string file = read_file(path);
  uint64_t header_size = 0;
  if (file.size() < 8) throw std::runtime_error(path + " is too short");
  std::memcpy(&header_size, file.data(), 8);
  if (header_size > file.size() - 8) throw std::runtime_error(path + " is truncated");
  const json header = json::parse(file.substr(8, header_size));
  const std::string data = file.substr(8 + header_size);
  std::map<std::string, Literal> tensors;
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    const TensorType type{dtype_of(entry.at("dtype")), entry.at("shape").get<Dims>()};
    const auto begin = entry.at("data_offsets").at(0).get<size_t>();
    const auto end = entry.at("data_offsets").at(1).get<size_t>();
    if (begin > end || end > data.size()) throw std::runtime_error(path + " is truncated");
    const auto* from = reinterpret_cast<const std::byte*>(data.data());
    tensors.emplace(name, Literal(type, std::vector<std::byte>(from + begin, from + end)));
  }
  return tensors;
}

Deviation deviation(const Literal& a, const Literal& b) {
  double difference = 0, norm = 0;
  for (int64_t i = 0; i < b.type().num_elements(); ++i) {
    const double x = a.as_double(i), y = b.as_double(i);
    difference += (x - y) * (x - y);
    norm += y * y;
  }
  return {std::sqrt(difference), std::sqrt(norm)};
}

const std::vector<std::string>& exported_program_names() {
  static const std::vector<std::string> kNames{"digits_mlp", "digits_cnn",     "gpt_fsdp",
                                               "gpt_dp_tp",  "llama_scan",     "moe",
                                               "gru_scan",   "ring_shard_map", "dropout_mlp"};
  return kNames;
}

ExportedProgram load_exported_program(const std::string& name, const std::string& root) {
  ExportedProgram program;
  program.name = name;
  program.folder = root + "/" + name;
  const json signature = json::parse(read_file(program.folder + "/signature.json"));
  program.steps = signature.at("steps");
  for (const json& entry : signature.at("arguments")) {
    program.arguments.push_back({entry.at("name"), entry.at("shape").get<Dims>(),
                                 entry.at("role") == "state", entry.value("result", -1),
                                 entry.value("state_spread", 0.0)});
  }
  const auto results = signature.at("results").get<std::vector<std::string>>();
  program.loss_result =
      static_cast<size_t>(std::find(results.begin(), results.end(), "loss") - results.begin());
  program.state = read_safetensors(program.folder + "/state.safetensors");
  program.batches = read_safetensors(program.folder + "/batches.safetensors");
  program.expected = read_safetensors(program.folder + "/expected.safetensors");
  return program;
}

std::vector<Literal> ExportedProgram::initial_arguments() const {
  std::vector<Literal> values;
  for (const Argument& argument : arguments) {
    // The files hold scalars as tensors of one element.
    values.push_back(argument.is_state ? state.at(argument.name).reshaped(argument.shape)
                                       : Literal());
  }
  set_batch(values, 0);
  return values;
}

void ExportedProgram::set_batch(std::vector<Literal>& values, int step) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].is_state) values[i] = row_of(batches.at(arguments[i].name), step);
  }
}

void ExportedProgram::advance(std::vector<Literal>& values,
                              const std::vector<Literal>& results) const {
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].result >= 0) values[i] = results[static_cast<size_t>(arguments[i].result)];
  }
}

std::map<std::string, double> ExportedProgram::state_deviations(
    const std::vector<Literal>& values) const {
  std::map<std::string, double> ratios;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (!argument.is_state) continue;
    const Literal& wanted = expected.at(argument.name);
    const Deviation found = deviation(values[i], wanted);
    const double allowed = std::max(1e-3, 5 * argument.spread) * found.norm +
                           1e-7 * std::sqrt(static_cast<double>(wanted.type().num_elements()));
    ratios[argument.name] = found.difference / allowed;
  }
  return ratios;
}

}  // namespace spmd::testing
