// Element types and tensor types as arguments of fmt::format: text is made only where a message is.
#pragma once

#include <fmt/format.h>

#include "ir/type.h"

template <>
struct fmt::formatter<spmd::DType> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(spmd::DType dtype, Context& context) const {
    return fmt::formatter<std::string_view>::format(spmd::name_of(dtype), context);
  }
};

template <>
struct fmt::formatter<spmd::TensorType> : fmt::formatter<std::string_view> {
  template <typename Context>
  auto format(const spmd::TensorType& type, Context& context) const {
    return fmt::formatter<std::string_view>::format(spmd::to_string(type), context);
  }
};
