// Spellings of enumerators in text.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "ir/attrs.h"

namespace spmd::text {

// All enumerators of a type with their spellings.
template <typename Enum>
struct EnumNames;

#define SPMD_ENUM_NAMES(Type, ...)                                              \
  template <>                                                                   \
  struct EnumNames<Type> {                                                      \
    static constexpr std::pair<Type, std::string_view> kRows[] = {__VA_ARGS__}; \
  }

SPMD_ENUM_NAMES(CompareDirection, {CompareDirection::kEq, "EQ"}, {CompareDirection::kNe, "NE"},
                {CompareDirection::kLt, "LT"}, {CompareDirection::kLe, "LE"},
                {CompareDirection::kGt, "GT"}, {CompareDirection::kGe, "GE"});
SPMD_ENUM_NAMES(CompareType, {CompareType::kNone, "NOTYPE"}, {CompareType::kFloat, "FLOAT"},
                {CompareType::kSigned, "SIGNED"}, {CompareType::kUnsigned, "UNSIGNED"},
                {CompareType::kTotalOrder, "TOTALORDER"});
SPMD_ENUM_NAMES(Precision, {Precision::kDefault, "DEFAULT"}, {Precision::kHigh, "HIGH"},
                {Precision::kHighest, "HIGHEST"});
SPMD_ENUM_NAMES(RngAlgorithm, {RngAlgorithm::kDefault, "DEFAULT"},
                {RngAlgorithm::kThreeFry, "THREE_FRY"}, {RngAlgorithm::kPhilox, "PHILOX"});
SPMD_ENUM_NAMES(FftKind, {FftKind::kFft, "FFT"}, {FftKind::kIfft, "IFFT"}, {FftKind::kRfft, "RFFT"},
                {FftKind::kIrfft, "IRFFT"});
SPMD_ENUM_NAMES(TransposeKind, {TransposeKind::kNone, "NO_TRANSPOSE"},
                {TransposeKind::kTranspose, "TRANSPOSE"}, {TransposeKind::kAdjoint, "ADJOINT"});
SPMD_ENUM_NAMES(RngDistribution, {RngDistribution::kUniform, "UNIFORM"},
                {RngDistribution::kNormal, "NORMAL"});
SPMD_ENUM_NAMES(PropagationDirection, {PropagationDirection::kNone, "NONE"},
                {PropagationDirection::kForward, "FORWARD"},
                {PropagationDirection::kBackward, "BACKWARD"},
                {PropagationDirection::kBoth, "BOTH"});
#undef SPMD_ENUM_NAMES

template <typename Enum>
std::string_view enum_name(Enum value) {
  for (const auto& [enumerator, name] : EnumNames<Enum>::kRows) {
    if (enumerator == value) return name;
  }
  return "?";
}

template <typename Enum>
std::optional<Enum> enum_named(std::string_view name) {
  for (const auto& [enumerator, spelling] : EnumNames<Enum>::kRows) {
    if (spelling == name) return enumerator;
  }
  return std::nullopt;
}

}  // namespace spmd::text
