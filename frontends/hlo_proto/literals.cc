#include "frontends/hlo_proto/literals.h"

#include "frontends/hlo_proto/types.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

using Bytes = std::vector<std::byte>;

// Elements in the file's order, converted to their storage type.
template <typename Stored, typename Repeated>
Bytes from_repeated(const Repeated& elements) {
  Bytes bytes(static_cast<size_t>(elements.size()) * sizeof(Stored));
  std::byte* to = bytes.data();
  for (const auto element : elements) {
    const auto stored = static_cast<Stored>(element);
    std::memcpy(to, &stored, sizeof(Stored));
    to += sizeof(Stored);
  }
  return bytes;
}

Bytes from_bytes(const std::string& elements) {
  const auto* data = reinterpret_cast<const std::byte*>(elements.data());
  return Bytes(data, data + elements.size());
}

// Integers of fewer bits than a byte, whose other bits say nothing.
Bytes from_low_bits(const std::string& elements, DType dtype) {
  Bytes bytes = from_bytes(elements);
  const int unused = 8 - bit_width(dtype);
  for (std::byte& byte : bytes) {
    const auto shifted = static_cast<uint8_t>(std::to_integer<int>(byte) << unused);
    byte = is_signed_int(dtype) ? static_cast<std::byte>(static_cast<int8_t>(shifted) >> unused)
                                : static_cast<std::byte>(shifted >> unused);
  }
  return bytes;
}

Bytes stored_elements(const hlo::LiteralProto& proto, DType dtype, const std::string& place) {
  switch (dtype) {
    case DType::kBool:
      return from_repeated<uint8_t>(proto.preds());
    case DType::kS8:
      return from_bytes(proto.s8s());
    case DType::kS16:
      return from_bytes(proto.s16s());
    case DType::kS32:
      return from_repeated<int32_t>(proto.s32s());
    case DType::kS64:
      return from_repeated<int64_t>(proto.s64s());
    case DType::kU8:
      return from_bytes(proto.u8s());
    case DType::kU16:
      return from_bytes(proto.u16s());
    case DType::kU32:
      return from_repeated<uint32_t>(proto.u32s());
    case DType::kU64:
      return from_repeated<uint64_t>(proto.u64s());
    case DType::kF8E4M3FN:
      return from_bytes(proto.f8e4m3fns());
    case DType::kF8E5M2:
      return from_bytes(proto.f8e5m2s());
    case DType::kF16:
      return from_bytes(proto.f16s());
    case DType::kBF16:
      return from_bytes(proto.bf16s());
    case DType::kF32:
      return from_repeated<float>(proto.f32s());
    case DType::kF64:
      return from_repeated<double>(proto.f64s());
    case DType::kC64:
      return from_repeated<float>(proto.c64s());
    case DType::kC128:
      return from_repeated<double>(proto.c128s());
    case DType::kS2:
      return from_low_bits(proto.s2s(), dtype);
    case DType::kS4:
      return from_low_bits(proto.s4s(), dtype);
    case DType::kU2:
      return from_low_bits(proto.u2s(), dtype);
    case DType::kU4:
      return from_low_bits(proto.u4s(), dtype);
    case DType::kF4E2M1FN:
      return from_bytes(proto.f4e2m1fns());
    case DType::kF8E3M4:
      return from_bytes(proto.f8e3m4s());
    case DType::kF8E4M3:
      return from_bytes(proto.f8e4m3s());
    case DType::kF8E4M3B11FNUZ:
      return from_bytes(proto.f8e4m3b11fnuzs());
    case DType::kF8E4M3FNUZ:
      return from_bytes(proto.f8e4m3fnuzs());
    case DType::kF8E5M2FNUZ:
      return from_bytes(proto.f8e5m2fnuzs());
    case DType::kF8E8M0FNU:
      return from_bytes(proto.f8e8m0fnus());
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
    case DType::kToken:
      break;
  }
  throw UserError(place, fmt::format("constants of type {} are not supported", name_of(dtype)),
                  "convert a constant of type f32 instead");
}

bool is_row_major(const hlo::LayoutProto& layout) {
  for (int i = 0; i < layout.minor_to_major_size(); ++i) {
    if (layout.minor_to_major(i) != layout.minor_to_major_size() - 1 - i) return false;
  }
  return true;
}

// Moves elements from the order of `layout` (a permutation of the dimensions) to row-major.
Bytes to_row_major(const Bytes& elements, const TensorType& type, const hlo::LayoutProto& layout) {
  const size_t rank = type.shape.size();
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  const Dims target = row_major_strides(type.shape);
  Bytes result(elements.size());
  Dims index(rank, 0);
  int64_t to = 0;
  for (size_t from = 0; from < elements.size(); from += size) {
    std::memcpy(result.data() + static_cast<size_t>(to) * size, elements.data() + from, size);
    for (size_t i = 0; i < rank; ++i) {  // minor first
      const auto dim = static_cast<size_t>(layout.minor_to_major(static_cast<int>(i)));
      to += target[dim];
      if (++index[dim] < type.shape[dim]) break;
      to -= target[dim] * type.shape[dim];
      index[dim] = 0;
    }
  }
  return result;
}

void check_layout(const hlo::LayoutProto& layout, int64_t rank, const std::string& place) {
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  bool valid = layout.minor_to_major_size() == rank;
  for (int64_t dim : layout.minor_to_major()) {
    valid = valid && dim >= 0 && dim < rank && !seen[static_cast<size_t>(dim)];
    if (valid) seen[static_cast<size_t>(dim)] = true;
  }
  if (!valid) {
    throw UserError(place, "the layout of the constant is not a permutation of its dimensions",
                    "the file is damaged: export it again");
  }
}

bool all_equal(const Bytes& elements, size_t size) {
  return elements.size() > size &&
         std::memcmp(elements.data(), elements.data() + size, elements.size() - size) == 0;
}

}  // namespace

Literal literal_from(const hlo::LiteralProto& proto, const std::string& place) {
  const TensorType type = type_of(proto.shape(), place);
  Bytes elements = stored_elements(proto, type.dtype, place);
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  if (elements.size() != static_cast<size_t>(type.num_elements()) * size) {
    throw UserError(place,
                    fmt::format("the constant holds {} bytes of elements, expected {} for {}",
                                elements.size(), type.num_bytes(), to_string(type)),
                    "the file is damaged, or was written without its constants: export it again");
  }
  if (all_equal(elements, size)) return Literal::splat(type, elements.data());
  const hlo::LayoutProto& layout = proto.shape().layout();
  if (!is_row_major(layout)) {
    check_layout(layout, type.rank(), place);
    elements = to_row_major(elements, type, layout);
  }
  return Literal(type, std::move(elements));
}

void append_literals(const hlo::LiteralProto& proto, const std::string& place,
                     std::vector<Literal>& leaves) {
  if (proto.shape().element_type() != hlo::TUPLE) {
    leaves.push_back(literal_from(proto, place));
    return;
  }
  if (proto.tuple_literals_size() != proto.shape().tuple_shapes_size()) {
    throw UserError(place,
                    fmt::format("the tuple holds {} values, expected {}",
                                proto.tuple_literals_size(), proto.shape().tuple_shapes_size()),
                    "the file is damaged: export it again");
  }
  for (const hlo::LiteralProto& element : proto.tuple_literals()) {
    append_literals(element, place, leaves);
  }
}

}  // namespace spmd::hlo_proto
