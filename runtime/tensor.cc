#include "runtime/tensor.h"

#include <cstring>

#include "support/float_formats.h"

namespace spmd {
namespace {

template <typename T>
T read(const std::byte* data) {
  T value;
  std::memcpy(&value, data, sizeof value);
  return value;
}

}  // namespace

bool holds_shape(const std::vector<int64_t>& found, const std::vector<int64_t>& expected) {
  return found == expected || (expected.empty() && found == std::vector<int64_t>{1});
}

std::string describe(plan::DType dtype, const std::vector<int64_t>& shape) {
  std::string text(plan::dtype_name(dtype));
  text += '[';
  for (size_t d = 0; d < shape.size(); ++d) text += (d == 0 ? "" : ",") + std::to_string(shape[d]);
  return text + ']';
}

double element_as_double(plan::DType dtype, const std::byte* element) {
  switch (dtype) {
    case plan::BOOL:
      return read<uint8_t>(element) != 0;
    case plan::S2:
    case plan::S4:
    case plan::S8:
      return read<int8_t>(element);
    case plan::S16:
      return read<int16_t>(element);
    case plan::S32:
      return read<int32_t>(element);
    case plan::S64:
      return static_cast<double>(read<int64_t>(element));
    case plan::U2:
    case plan::U4:
    case plan::U8:
      return read<uint8_t>(element);
    case plan::U16:
      return read<uint16_t>(element);
    case plan::U32:
      return read<uint32_t>(element);
    case plan::U64:
      return static_cast<double>(read<uint64_t>(element));
#define SPMD_READ(Type, name) \
  case plan::Type:            \
    return name##_to_float(read<uint8_t>(element));
      SPMD_BYTE_FLOATS(SPMD_READ)
#undef SPMD_READ
    case plan::F16:
      return f16_to_float(read<uint16_t>(element));
    case plan::BF16:
      return bf16_to_float(read<uint16_t>(element));
    case plan::F32:
    case plan::C64:
      return read<float>(element);
    case plan::F64:
    case plan::C128:
      return read<double>(element);
    default:
      return 0;
  }
}

}  // namespace spmd
