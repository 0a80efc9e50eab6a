// Literal: the elements of a tensor, row-major in host byte order.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <vector>

#include "ir/type.h"

namespace spmd {

// Immutable once shared; copying is cheap. A splat stores one element, whatever the shape.
class Literal {
 public:
  Literal() = default;
  // All elements zero.
  explicit Literal(TensorType type);
  // `bytes` holds all elements.
  Literal(TensorType type, std::vector<std::byte> bytes);

  static Literal splat(TensorType type, const void* element);
  // A splat of `value` rounded to the element type (booleans: value != 0).
  static Literal splat(TensorType type, double value);
  template <typename T>
  static Literal of(TensorType type, const std::vector<T>& elements) {
    Literal literal(std::move(type));
    if (elements.empty()) return literal;
    std::memcpy(literal.mutable_data(), elements.data(), elements.size() * sizeof(T));
    return literal;
  }

  const TensorType& type() const { return type_; }
  bool is_splat() const { return splat_; }
  bool empty() const { return bytes_ == nullptr; }
  // One element when is_splat(), else all of them.
  const std::byte* data() const { return bytes_->data(); }
  size_t stored_bytes() const { return bytes_->size(); }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data());
  }
  // Unshares, and expands a splat, first.
  std::byte* mutable_data();
  template <typename T>
  T* mutable_as() {
    return reinterpret_cast<T*>(mutable_data());
  }

  // The same value with every element stored.
  Literal expanded() const;
  // The same elements under another shape of equal size.
  Literal reshaped(Dims shape) const;

  // Element by flat index, converted (real part of complex numbers).
  double as_double(int64_t index) const;
  int64_t as_int(int64_t index) const;

  // Bitwise equality of types and elements.
  bool operator==(const Literal& other) const;

 private:
  TensorType type_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
  bool splat_ = false;
};

}  // namespace spmd
