#include "runtime/tensor.h"

#include <algorithm>
#include <cctype>
#include <cstring>

#include "support/error.h"
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

std::string remedy_for_type(plan::DType wanted) {
  const std::string_view name = plan::dtype_name(wanted);
  // As NumPy and ml_dtypes spell types: "float32", "uint8", "bfloat16".
  std::string spelled(name);
  if (name == "bf16") spelled = "bfloat16";
  if (name[0] == 'f') {
    const size_t digits = std::min(name.find_first_not_of("0123456789", 1), name.size());
    spelled = fmt::format("float{}", name.substr(1, digits - 1));
    if (digits < name.size()) spelled += '_';
    for (char c : name.substr(digits)) spelled += static_cast<char>(std::tolower(c));
  }
  if (name[0] == 'i') spelled = "int" + spelled.substr(1);
  if (name.starts_with("ui")) spelled = "uint" + spelled.substr(2);
  if (name[0] == 'c') spelled = wanted == plan::C64 ? "complex64" : "complex128";
  return fmt::format("convert it to {}, in Python: tensor.astype(\"{}\")", name, spelled);
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
