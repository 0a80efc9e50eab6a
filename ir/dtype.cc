#include "ir/dtype.h"

#include <iterator>

namespace spmd {
namespace {

struct DTypeRow {
  std::string_view name;
  int64_t bytes;
  DTypeKind kind;
};

constexpr DTypeRow kDTypeRows[] = {
#define SPMD_DTYPE_ROW(name, text, bits, kind) {text, (bits) / 8, DTypeKind::kind},
    SPMD_DTYPES(SPMD_DTYPE_ROW)
#undef SPMD_DTYPE_ROW
};

}  // namespace

std::string_view name_of(DType dtype) { return kDTypeRows[static_cast<size_t>(dtype)].name; }

std::optional<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < std::size(kDTypeRows); ++i) {
    if (kDTypeRows[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

int64_t byte_size(DType dtype) { return kDTypeRows[static_cast<size_t>(dtype)].bytes; }

int bit_width(DType dtype) {
  switch (dtype) {
    case DType::kS2:
    case DType::kU2:
      return 2;
    case DType::kS4:
    case DType::kU4:
    case DType::kF4E2M1FN:
      return 4;
    case DType::kF6E2M3FN:
    case DType::kF6E3M2FN:
      return 6;
    default:
      return static_cast<int>(8 * byte_size(dtype));
  }
}

DTypeKind kind_of(DType dtype) { return kDTypeRows[static_cast<size_t>(dtype)].kind; }

DType accumulation_type(DType dtype) {
  return is_float(dtype) && byte_size(dtype) <= 2 ? DType::kF32 : dtype;
}

}  // namespace spmd
