#include "runtime/io/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>

#include "support/error.h"

namespace spmd {
namespace {

using nlohmann::json;

constexpr int64_t kMaxHeader = 100 << 20;  // as in the format's own reader
constexpr const char* kDamaged = "the file is damaged; write it again";

struct TypeName {
  plan::DType dtype;
  const char* name;
};
constexpr TypeName kTypes[] = {
    {plan::BOOL, "BOOL"},        {plan::S8, "I8"},          {plan::S16, "I16"},
    {plan::S32, "I32"},          {plan::S64, "I64"},        {plan::U8, "U8"},
    {plan::U16, "U16"},          {plan::U32, "U32"},        {plan::U64, "U64"},
    {plan::F8E4M3FN, "F8_E4M3"}, {plan::F8E5M2, "F8_E5M2"}, {plan::F16, "F16"},
    {plan::BF16, "BF16"},        {plan::F32, "F32"},        {plan::F64, "F64"},
    {plan::C64, "C64"},          {plan::C128, "C128"},
};

plan::DType dtype_named(const std::string& name) {
  for (const TypeName& type : kTypes)
    if (name == type.name) return type.dtype;
  return plan::INVALID;
}

// Integers and floats of less than a byte are written one a byte.
const char* name_of(plan::DType dtype) {
  if (dtype == plan::S2 || dtype == plan::S4) dtype = plan::S8;
  if (dtype == plan::U2 || dtype == plan::U4) dtype = plan::U8;
  for (const TypeName& type : kTypes)
    if (dtype == type.dtype) return type.name;
  throw UserError("safetensors", fmt::format("cannot hold {}", plan::dtype_name(dtype)),
                  "convert the tensor to another element type in the program");
}

// One entry of the header, checked against the data section's size.
TensorView read_entry(const std::string& place, const json& entry, const std::byte* data,
                      int64_t data_size) {
  const auto bad = [&](const std::string& fact) { throw UserError(place, fact, kDamaged); };
  if (!entry.is_object() || !entry.contains("dtype") || !entry["dtype"].is_string() ||
      !entry.contains("shape") || !entry["shape"].is_array() || !entry.contains("data_offsets") ||
      !entry["data_offsets"].is_array() || entry["data_offsets"].size() != 2)
    bad("lacks dtype, shape or data_offsets");
  TensorView view;
  const auto dtype = entry["dtype"].get<std::string>();
  view.dtype = dtype_named(dtype);
  if (view.dtype == plan::INVALID) bad(fmt::format("has the unknown type {}", dtype));
  const int64_t size = plan::byte_size(view.dtype);
  int64_t count = 1;
  for (const json& dim : entry["shape"]) {
    if (!dim.is_number_unsigned() || dim.get<uint64_t>() > uint64_t{1} << 48)
      bad("has a shape that is no list of sizes");
    view.shape.push_back(dim.get<int64_t>());
    if (view.shape.back() != 0 && count > (int64_t{1} << 56) / view.shape.back())
      bad("is larger than any file");
    count *= view.shape.back();
  }
  const json& offsets = entry["data_offsets"];
  if (!offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
    bad("has offsets that are no numbers");
  const auto begin = offsets[0].get<uint64_t>(), end = offsets[1].get<uint64_t>();
  if (begin > end || end > static_cast<uint64_t>(data_size))
    bad(fmt::format("reaches to byte {} of {} bytes of data: the file is truncated", end,
                    data_size));
  if (end - begin != static_cast<uint64_t>(count * size))
    bad(fmt::format("has {} bytes of data for {}", end - begin, describe(view.dtype, view.shape)));
  view.data = data + begin;
  return view;
}

}  // namespace

SafetensorsFile::SafetensorsFile(const std::string& path) : file_(path) {
  static_assert(std::endian::native == std::endian::little);
  const char* remedy = "expected a safetensors file: a length of 8 bytes, a JSON header, data";
  uint64_t length = 0;
  if (file_.size() < 8) throw UserError(path, "too short for a safetensors file", remedy);
  std::memcpy(&length, file_.data(), 8);
  if (length > static_cast<uint64_t>(kMaxHeader))
    throw UserError(path, "not a safetensors file", remedy);
  if (length > static_cast<uint64_t>(file_.size() - 8))
    throw UserError(
        path, fmt::format("truncated: the header has {} bytes, the file {}", length, file_.size()),
        "write or copy it again");
  const char* text = reinterpret_cast<const char*>(file_.data()) + 8;
  const json header = json::parse(text, text + length, nullptr, false);
  if (!header.is_object()) throw UserError(path, "the header is no JSON object", remedy);
  const std::byte* data = file_.data() + 8 + length;
  const int64_t data_size = file_.size() - 8 - static_cast<int64_t>(length);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") {
      if (!entry.is_object()) throw UserError(path, "__metadata__ is no JSON object", kDamaged);
      for (const auto& [key, value] : entry.items())
        metadata_[key] = value.is_string() ? value.get<std::string>() : value.dump();
      continue;
    }
    tensors_[name] = read_entry(fmt::format("{}: tensor {}", path, name), entry, data, data_size);
  }
  check_layout(data, data_size);
}

// The format asks for tensors that follow each other without overlap and without gap.
void SafetensorsFile::check_layout(const std::byte* data, int64_t data_size) const {
  std::vector<std::pair<int64_t, const std::string*>> begins;
  for (const auto& [name, tensor] : tensors_) begins.emplace_back(tensor.data - data, &name);
  // Empty tensors come first among those that begin at one place.
  std::sort(begins.begin(), begins.end(), [&](const auto& a, const auto& b) {
    return std::pair(a.first, tensors_.at(*a.second).num_bytes()) <
           std::pair(b.first, tensors_.at(*b.second).num_bytes());
  });
  int64_t end = 0;
  const std::string* before = nullptr;
  for (const auto& [begin, name] : begins) {
    if (begin < end)
      throw UserError(fmt::format("{}: tensor {}", path(), *name),
                      fmt::format("its data overlaps that of {}", *before), kDamaged);
    if (begin > end)
      throw UserError(fmt::format("{}: tensor {}", path(), *name),
                      fmt::format("the {} bytes before it belong to no tensor", begin - end),
                      kDamaged);
    end = begin + tensors_.at(*name).num_bytes();
    before = name;
  }
  if (end != data_size)
    throw UserError(path(), fmt::format("the last {} bytes belong to no tensor", data_size - end),
                    kDamaged);
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors_) names.push_back(name);
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return std::less<>()(tensors_.at(a).data, tensors_.at(b).data);
  });
  return names;
}

const TensorView* SafetensorsFile::find(const std::string& name) const {
  const auto it = tensors_.find(name);
  return it == tensors_.end() ? nullptr : &it->second;
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<Entry>& entries,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path), entries_(entries) {
  nlohmann::ordered_json header = nlohmann::ordered_json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  int64_t offset = 0;
  for (const Entry& entry : entries) {
    const int64_t bytes = TensorView{entry.dtype, entry.shape, nullptr}.num_bytes();
    header[entry.name] = {{"dtype", name_of(entry.dtype)},
                          {"shape", entry.shape},
                          {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  // Names come from programs, which may hold any bytes.
  std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
  text.append((8 - text.size() % 8) % 8, ' ');  // data begins aligned
  const uint64_t length = text.size();
  file_.write(&length, 8);
  file_.write(text.data(), static_cast<int64_t>(text.size()));
}

void SafetensorsWriter::write(const TensorView& tensor) {
  SPMD_CHECK(next_ < entries_.size(), "more tensors than announced");
  const Entry& entry = entries_[next_++];
  SPMD_CHECK(tensor.dtype == entry.dtype && tensor.shape == entry.shape,
             "tensor {} is not as announced", entry.name);
  file_.write(tensor.data, tensor.num_bytes());
}

void SafetensorsWriter::finish() {
  SPMD_CHECK(next_ == entries_.size(), "fewer tensors than announced");
  file_.commit();
}

}  // namespace spmd
