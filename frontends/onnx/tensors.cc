#include "frontends/onnx/tensors.h"

#include <charconv>

#include "frontends/onnx/external_data.h"
#include "frontends/onnx/onnx.pb.h"
#include "frontends/onnx/types.h"
#include "support/error.h"
#include "support/strings.h"

namespace spmd::onnx {
namespace {

constexpr int64_t kMaxDenseBytes = int64_t{1} << 32;  // of a sparse tensor
constexpr const char* kDamaged = "the file is damaged: export it again";

Dims shape_of(const TensorProto& proto, const std::string& place) {
  const Dims shape(proto.dims().begin(), proto.dims().end());
  const TensorType bytes{DType::kU8, shape};
  for (int64_t size : shape) {
    if (size < 0) throw UserError(place, fmt::format("a tensor has a size of {}", size), kDamaged);
  }
  if (!is_valid(bytes)) throw UserError(place, "a tensor is too large", kDamaged);
  return shape;
}

bool is_packed(DType dtype) { return dtype == DType::kS4 || dtype == DType::kU4; }

// Bytes of `raw_data`: sub-byte types are packed, first element in the low bits.
int64_t raw_bytes(const TensorType& type) {
  return is_packed(type.dtype) ? (type.num_elements() + 1) / 2 : type.num_bytes();
}

void unpack(DType dtype, const uint8_t* from, int64_t count, std::byte* to) {
  for (int64_t i = 0; i < count; ++i) {
    const uint8_t bits = (from[i / 2] >> (i % 2 * 4)) & 0xf;
    const bool negative = dtype == DType::kS4 && bits >= 8;
    to[i] = static_cast<std::byte>(negative ? bits | 0xf0 : bits);
  }
}

Literal from_raw(const TensorType& type, const std::byte* bytes) {
  Literal literal(type);
  std::byte* to = literal.mutable_data();
  if (is_packed(type.dtype)) {
    unpack(type.dtype, reinterpret_cast<const uint8_t*>(bytes), type.num_elements(), to);
    return literal;
  }
  if (type.num_bytes() > 0) std::memcpy(to, bytes, static_cast<size_t>(type.num_bytes()));
  if (type.dtype == DType::kBool) {
    for (int64_t i = 0; i < type.num_elements(); ++i) {
      to[i] = static_cast<std::byte>(to[i] != std::byte{0});
    }
  }
  return literal;
}

[[noreturn]] void wrong_count(const std::string& place, const TensorType& type, int64_t found) {
  throw UserError(place,
                  fmt::format("a tensor of type {} holds {} elements", to_string(type), found),
                  kDamaged);
}

// From one of the typed fields, whose elements are cast to T.
template <typename T, typename Field>
Literal from_field(const TensorType& type, const Field& field, const std::string& place) {
  if (field.size() != type.num_elements()) wrong_count(place, type, field.size());
  Literal literal(type);
  T* to = literal.mutable_as<T>();
  for (int i = 0; i < field.size(); ++i) to[i] = static_cast<T>(field.Get(i));
  return literal;
}

template <typename T, typename Field>
Literal complex_from_field(const TensorType& type, const Field& field, const std::string& place) {
  if (field.size() != 2 * type.num_elements()) wrong_count(place, type, field.size() / 2);
  Literal literal(type);
  T* to = literal.mutable_as<T>();
  for (int i = 0; i < field.size(); ++i) to[i] = static_cast<T>(field.Get(i));
  return literal;
}

Literal from_packed_field(const TensorType& type, const TensorProto& proto,
                          const std::string& place) {
  if (proto.int32_data_size() != raw_bytes(type)) {
    wrong_count(place, type, 2 * int64_t{proto.int32_data_size()});
  }
  std::vector<uint8_t> bytes(proto.int32_data().begin(), proto.int32_data().end());
  Literal literal(type);
  unpack(type.dtype, bytes.data(), type.num_elements(), literal.mutable_data());
  return literal;
}

Literal from_fields(const TensorType& type, const TensorProto& proto, const std::string& place) {
  switch (type.dtype) {
    case DType::kF32:
      return from_field<float>(type, proto.float_data(), place);
    case DType::kF64:
      return from_field<double>(type, proto.double_data(), place);
    case DType::kS64:
      return from_field<int64_t>(type, proto.int64_data(), place);
    case DType::kU64:
      return from_field<uint64_t>(type, proto.uint64_data(), place);
    case DType::kU32:
      return from_field<uint32_t>(type, proto.uint64_data(), place);
    case DType::kS32:
      return from_field<int32_t>(type, proto.int32_data(), place);
    case DType::kS16:
    case DType::kU16:
    case DType::kF16:
    case DType::kBF16:
      return from_field<uint16_t>(type, proto.int32_data(), place);
    case DType::kBool:
      return from_field<bool>(type, proto.int32_data(), place);
    case DType::kS8:
    case DType::kU8:
    case DType::kF8E4M3FN:
    case DType::kF8E5M2:
      return from_field<uint8_t>(type, proto.int32_data(), place);
    case DType::kS4:
    case DType::kU4:
      return from_packed_field(type, proto, place);
    case DType::kC64:
      return complex_from_field<float>(type, proto.float_data(), place);
    case DType::kC128:
      return complex_from_field<double>(type, proto.double_data(), place);
    default:
      SPMD_UNREACHABLE("element type {}", name_of(type.dtype));
  }
}

// A non-negative number in an entry of external_data.
int64_t external_number(const std::string& key, const std::string& text, const std::string& place) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw UserError(place, fmt::format("external data with {} \"{}\"", key, text), kDamaged);
  }
  return value;
}

}  // namespace

Tensors::Tensors(std::string source, std::string folder)
    : source_(std::move(source)), folder_(std::move(folder)) {}
Tensors::~Tensors() = default;

TensorType Tensors::type_of(const TensorProto& proto, const std::string& place) const {
  const std::optional<DType> dtype = dtype_of(proto.data_type());
  if (!dtype) {
    throw UserError(place,
                    fmt::format("a tensor of element type {}, which is not supported",
                                data_type_name(proto.data_type())),
                    "export the model without it");
  }
  TensorType type{*dtype, shape_of(proto, place)};
  if (!is_valid(type)) throw UserError(place, "a tensor is too large", kDamaged);
  return type;
}

Literal Tensors::read(const TensorProto& proto, const std::string& place) {
  const TensorType type = type_of(proto, place);
  const auto raw = raw_of(proto, type, place);
  return raw ? from_raw(type, raw->data()) : from_fields(type, proto, place);
}

std::optional<std::span<const std::byte>> Tensors::stored_bytes(const TensorProto& proto,
                                                                const std::string& place) {
  const TensorType type = type_of(proto, place);
  // Booleans may be stored as other numbers than 0 and 1.
  if (is_packed(type.dtype) || type.dtype == DType::kBool) return std::nullopt;
  return raw_of(proto, type, place);
}

std::optional<std::span<const std::byte>> Tensors::raw_of(const TensorProto& proto,
                                                          const TensorType& type,
                                                          const std::string& place) {
  const int64_t expected = raw_bytes(type);
  if (proto.data_location() == TensorProto::EXTERNAL) {
    return external_bytes(proto, place, expected);
  }
  if (!proto.has_raw_data()) return std::nullopt;
  if (static_cast<int64_t>(proto.raw_data().size()) != expected) {
    throw UserError(place,
                    fmt::format("a tensor of type {} holds {} bytes, expected {}", to_string(type),
                                proto.raw_data().size(), expected),
                    kDamaged);
  }
  return std::as_bytes(std::span(proto.raw_data()));
}

std::span<const std::byte> Tensors::external_bytes(const TensorProto& proto,
                                                   const std::string& place, int64_t expected) {
  std::string location;
  int64_t offset = 0, length = expected;
  for (const StringStringEntryProto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() == "offset") offset = external_number("offset", entry.value(), place);
    if (entry.key() == "length") length = external_number("length", entry.value(), place);
  }
  if (length != expected) {
    throw UserError(place,
                    fmt::format("external data of {} bytes for tensor {}, which has {}", length,
                                proto.name(), expected),
                    kDamaged);
  }
  const MappedData& file = map_external(location, proto, place);
  if (offset > file.size() || expected > file.size() - offset) {
    throw UserError(
        place,
        fmt::format("tensor {} is bytes {} to {} of {}, which has {}", proto.name(), offset,
                    static_cast<uint64_t>(offset) + static_cast<uint64_t>(expected), file.path(),
                    file.size()),
        "copy or export the file again");
  }
  return {file.data() + offset, static_cast<size_t>(expected)};
}

const MappedData& Tensors::map_external(const std::string& location, const TensorProto& proto,
                                        const std::string& place) {
  std::unique_ptr<MappedData>& file = files_[location];
  if (!file) {
    const TensorType type = type_of(proto, place);
    const std::string what = fmt::format("tensor {} ({}, {})", proto.name(), to_string(type),
                                         human_bytes(static_cast<double>(raw_bytes(type))));
    file = std::make_unique<MappedData>(folder_, location, place, what);
  }
  return *file;
}

Literal Tensors::read(const SparseTensorProto& proto, const std::string& place) {
  const Literal values = read(proto.values(), place), indices = read(proto.indices(), place);
  const TensorType type{values.type().dtype, Dims(proto.dims().begin(), proto.dims().end())};
  const int64_t count = values.type().num_elements();
  const int64_t rank = indices.type().rank() == 2 ? indices.type().dim(1) : 0;
  const bool fits =
      is_valid(type) && indices.type().dtype == DType::kS64 && values.type().rank() == 1 &&
      (indices.type().shape == Dims{count} || indices.type().shape == Dims{count, type.rank()});
  for (int64_t size : type.shape) {
    if (size < 0 || !fits) throw UserError(place, "a sparse tensor is malformed", kDamaged);
  }
  if (!fits) throw UserError(place, "a sparse tensor is malformed", kDamaged);
  if (type.num_bytes() > kMaxDenseBytes) {
    throw UserError(place, "a sparse tensor is too large to be stored as a dense one",
                    "export the model with dense tensors");
  }
  Literal literal(type);
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  const Dims strides = row_major_strides(type.shape);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = rank == 0 ? indices.as_int(i) : 0;
    bool inside = true;
    for (int64_t d = 0; d < rank; ++d) {
      const int64_t index = indices.as_int(i * rank + d);
      inside = inside && index >= 0 && index < type.dim(d);
      if (inside) at += index * strides[static_cast<size_t>(d)];
    }
    if (!inside || at < 0 || at >= type.num_elements()) {
      throw UserError(place, fmt::format("index {} of a sparse tensor is out of range", i),
                      kDamaged);
    }
    std::memcpy(literal.mutable_data() + static_cast<size_t>(at) * size,
                values.data() + static_cast<size_t>(i) * size, size);
  }
  return literal;
}

StringTensor Tensors::read_strings(const TensorProto& proto, const std::string& place) const {
  StringTensor strings{shape_of(proto, place), {}};
  strings.elements.assign(proto.string_data().begin(), proto.string_data().end());
  const TensorType type{DType::kU8, strings.shape};
  if (static_cast<int64_t>(strings.elements.size()) != type.num_elements()) {
    wrong_count(place, type, static_cast<int64_t>(strings.elements.size()));
  }
  return strings;
}

}  // namespace spmd::onnx
