#include "frontends/hlo_proto/types.h"

#include <cctype>
#include <unordered_map>

#include "support/error.h"

namespace spmd::hlo_proto {

std::optional<DType> dtype_of(hlo::PrimitiveType type) {
  switch (type) {
    case hlo::PRED:
      return DType::kBool;
    case hlo::S4:
      return DType::kS4;
    case hlo::S8:
      return DType::kS8;
    case hlo::S16:
      return DType::kS16;
    case hlo::S32:
      return DType::kS32;
    case hlo::S64:
      return DType::kS64;
    case hlo::U4:
      return DType::kU4;
    case hlo::U8:
      return DType::kU8;
    case hlo::U16:
      return DType::kU16;
    case hlo::U32:
      return DType::kU32;
    case hlo::U64:
      return DType::kU64;
    case hlo::S2:
      return DType::kS2;
    case hlo::U2:
      return DType::kU2;
    case hlo::F4E2M1FN:
      return DType::kF4E2M1FN;
    case hlo::F8E3M4:
      return DType::kF8E3M4;
    case hlo::F8E4M3:
      return DType::kF8E4M3;
    case hlo::F8E4M3B11FNUZ:
      return DType::kF8E4M3B11FNUZ;
    case hlo::F8E4M3FNUZ:
      return DType::kF8E4M3FNUZ;
    case hlo::F8E5M2FNUZ:
      return DType::kF8E5M2FNUZ;
    case hlo::F8E8M0FNU:
      return DType::kF8E8M0FNU;
    case hlo::F8E4M3FN:
      return DType::kF8E4M3FN;
    case hlo::F8E5M2:
      return DType::kF8E5M2;
    case hlo::F16:
      return DType::kF16;
    case hlo::BF16:
      return DType::kBF16;
    case hlo::F32:
      return DType::kF32;
    case hlo::F64:
      return DType::kF64;
    case hlo::C64:
      return DType::kC64;
    case hlo::C128:
      return DType::kC128;
    case hlo::TOKEN:
      return DType::kToken;
    default:
      return std::nullopt;
  }
}

std::string name_of(hlo::PrimitiveType type) {
  if (!hlo::PrimitiveType_IsValid(type)) return std::to_string(static_cast<int>(type));
  if (type == hlo::OPAQUE_TYPE) return "opaque";
  std::string name = hlo::PrimitiveType_Name(type);
  for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return name;
}

std::optional<hlo::PrimitiveType> primitive_type_named(std::string_view name) {
  static const std::unordered_map<std::string, hlo::PrimitiveType> types = [] {
    std::unordered_map<std::string, hlo::PrimitiveType> all;
    for (int number = hlo::PRED; number <= hlo::PrimitiveType_MAX; ++number) {
      const auto type = static_cast<hlo::PrimitiveType>(number);
      if (hlo::PrimitiveType_IsValid(number)) all.emplace(name_of(type), type);
    }
    return all;
  }();
  const auto found = types.find(std::string(name));
  if (found == types.end()) return std::nullopt;
  return found->second;
}

TensorType type_of(const hlo::ShapeProto& shape, const std::string& place) {
  const std::optional<DType> dtype = dtype_of(shape.element_type());
  if (!dtype) {
    throw UserError(place,
                    fmt::format("element type {} is not supported", name_of(shape.element_type())));
  }
  for (int i = 0; i < shape.is_dynamic_dimension_size(); ++i) {
    if (!shape.is_dynamic_dimension(i)) continue;
    throw UserError(place, fmt::format("dimension {} has a dynamic size", i),
                    "export the program for fixed shapes");
  }
  TensorType type{*dtype, Dims(shape.dimensions().begin(), shape.dimensions().end())};
  for (int64_t size : type.shape) {
    if (size >= 0) continue;
    throw UserError(place, fmt::format("found a dimension of size {}", size),
                    "export the program for fixed shapes");
  }
  if (type.rank() > kMaxRank) {
    throw UserError(place, fmt::format("found a tensor of {} dimensions", type.rank()),
                    fmt::format("expected at most {}", kMaxRank));
  }
  if (!is_valid(type)) {
    throw UserError(place, fmt::format("{} is larger than any memory", to_string(type)),
                    "the file is damaged: export it again");
  }
  return type;
}

void append_leaf_types(const hlo::ShapeProto& shape, const std::string& place,
                       std::vector<TensorType>& types) {
  if (shape.element_type() != hlo::TUPLE) {
    types.push_back(type_of(shape, place));
    return;
  }
  for (const hlo::ShapeProto& element : shape.tuple_shapes()) {
    append_leaf_types(element, place, types);
  }
}

std::vector<TensorType> leaf_types(const hlo::ShapeProto& shape, const std::string& place) {
  std::vector<TensorType> types;
  append_leaf_types(shape, place, types);
  return types;
}

int64_t count_leaves(const hlo::ShapeProto& shape) {
  if (shape.element_type() != hlo::TUPLE) return 1;
  int64_t count = 0;
  for (const hlo::ShapeProto& element : shape.tuple_shapes()) count += count_leaves(element);
  return count;
}

}  // namespace spmd::hlo_proto
