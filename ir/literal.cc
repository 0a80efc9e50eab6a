#include "ir/literal.h"

#include <cmath>
#include <limits>

#include "support/error.h"
#include "support/float_formats.h"

namespace spmd {
namespace {

// Writes `value`, rounded to `dtype`, at `to`.
void store(DType dtype, double value, std::byte* to) {
  const auto put = [&](auto element) { std::memcpy(to, &element, sizeof element); };
  switch (dtype) {
    case DType::kBool:
      return put(static_cast<uint8_t>(value != 0));
    case DType::kS2:
    case DType::kS4:
    case DType::kS8:
      return put(static_cast<int8_t>(value));
    case DType::kS16:
      return put(static_cast<int16_t>(value));
    case DType::kS32:
      return put(static_cast<int32_t>(value));
    case DType::kS64:
      return put(static_cast<int64_t>(value));
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
      return put(static_cast<uint8_t>(value));
    case DType::kU16:
      return put(static_cast<uint16_t>(value));
    case DType::kU32:
      return put(static_cast<uint32_t>(value));
    case DType::kU64:
      return put(static_cast<uint64_t>(value));
#define SPMD_STORE(Type, name) \
  case DType::k##Type:         \
    return put(float_to_##name(static_cast<float>(value)));
      SPMD_BYTE_FLOATS(SPMD_STORE)
#undef SPMD_STORE
    case DType::kF16:
      return put(float_to_f16(static_cast<float>(value)));
    case DType::kBF16:
      return put(float_to_bf16(static_cast<float>(value)));
    case DType::kF32:
      return put(static_cast<float>(value));
    case DType::kF64:
      return put(value);
    case DType::kC64: {
      const float pair[2] = {static_cast<float>(value), 0};
      std::memcpy(to, pair, sizeof pair);
      return;
    }
    case DType::kC128: {
      const double pair[2] = {value, 0};
      std::memcpy(to, pair, sizeof pair);
      return;
    }
    case DType::kToken:
      return;
  }
}

template <typename Result>
Result load(DType dtype, const std::byte* from) {
  const auto get = [&](auto element) {
    std::memcpy(&element, from, sizeof element);
    return element;
  };
  switch (dtype) {
    case DType::kBool:
      return static_cast<Result>(get(uint8_t{}) != 0);
    case DType::kS2:
    case DType::kS4:
    case DType::kS8:
      return static_cast<Result>(get(int8_t{}));
    case DType::kS16:
      return static_cast<Result>(get(int16_t{}));
    case DType::kS32:
      return static_cast<Result>(get(int32_t{}));
    case DType::kS64:
      return static_cast<Result>(get(int64_t{}));
    case DType::kU2:
    case DType::kU4:
    case DType::kU8:
      return static_cast<Result>(get(uint8_t{}));
    case DType::kU16:
      return static_cast<Result>(get(uint16_t{}));
    case DType::kU32:
      return static_cast<Result>(get(uint32_t{}));
    case DType::kU64:
      return static_cast<Result>(get(uint64_t{}));
#define SPMD_LOAD(Type, name) \
  case DType::k##Type:        \
    return static_cast<Result>(name##_to_float(get(uint8_t{})));
      SPMD_BYTE_FLOATS(SPMD_LOAD)
#undef SPMD_LOAD
    case DType::kF16:
      return static_cast<Result>(f16_to_float(get(uint16_t{})));
    case DType::kBF16:
      return static_cast<Result>(bf16_to_float(get(uint16_t{})));
    case DType::kF32:
    case DType::kC64:
      return static_cast<Result>(get(float{}));
    case DType::kF64:
    case DType::kC128:
      return static_cast<Result>(get(double{}));
    case DType::kToken:
      return Result{};
  }
  return Result{};
}

}  // namespace

Literal::Literal(TensorType type)
    : type_(std::move(type)),
      bytes_(std::make_shared<std::vector<std::byte>>(static_cast<size_t>(type_.num_bytes()))) {}

Literal::Literal(TensorType type, std::vector<std::byte> bytes)
    : type_(std::move(type)), bytes_(std::make_shared<std::vector<std::byte>>(std::move(bytes))) {
  SPMD_CHECK(static_cast<int64_t>(bytes_->size()) == type_.num_bytes(), "{} bytes for {}",
             bytes_->size(), to_string(type_));
}

Literal Literal::splat(TensorType type, const void* element) {
  Literal literal;
  const auto* from = static_cast<const std::byte*>(element);
  literal.bytes_ = std::make_shared<std::vector<std::byte>>(from, from + byte_size(type.dtype));
  literal.type_ = std::move(type);
  literal.splat_ = true;
  return literal;
}

Literal Literal::splat(TensorType type, double value) {
  std::byte element[16];
  store(type.dtype, value, element);
  return splat(std::move(type), static_cast<const void*>(element));
}

std::byte* Literal::mutable_data() {
  if (splat_) {
    *this = expanded();
  } else if (bytes_.use_count() > 1) {
    bytes_ = std::make_shared<std::vector<std::byte>>(*bytes_);
  }
  return bytes_->data();
}

Literal Literal::expanded() const {
  if (!splat_) return *this;
  Literal literal(type_);
  const size_t size = bytes_->size();
  std::byte* to = literal.bytes_->data();
  for (size_t at = 0; at < literal.bytes_->size(); at += size) {
    std::memcpy(to + at, bytes_->data(), size);
  }
  return literal;
}

Literal Literal::reshaped(Dims shape) const {
  Literal literal = *this;
  literal.type_.shape = std::move(shape);
  SPMD_CHECK(literal.type_.num_elements() == type_.num_elements());
  return literal;
}

double Literal::as_double(int64_t index) const {
  return load<double>(type_.dtype, data() + (splat_ ? 0 : index * byte_size(type_.dtype)));
}

int64_t Literal::as_int(int64_t index) const {
  return load<int64_t>(type_.dtype, data() + (splat_ ? 0 : index * byte_size(type_.dtype)));
}

bool Literal::operator==(const Literal& other) const {
  if (type_ != other.type_ || empty() != other.empty()) return false;
  if (empty() || (bytes_ == other.bytes_ && splat_ == other.splat_)) return true;
  if (splat_ == other.splat_) return *bytes_ == *other.bytes_;
  return *expanded().bytes_ == *other.expanded().bytes_;
}

}  // namespace spmd
