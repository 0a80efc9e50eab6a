#include "frontends/hlo_proto/precision.h"

#include <algorithm>

namespace spmd::hlo_proto {

std::vector<Precision> precision_of(const hlo::PrecisionConfig& config) {
  std::vector<Precision> precision;
  for (int operand : config.operand_precision()) {
    switch (operand) {
      case hlo::PrecisionConfig::HIGH:
        precision.push_back(Precision::kHigh);
        break;
      case hlo::PrecisionConfig::HIGHEST:
        precision.push_back(Precision::kHighest);
        break;
      default:
        precision.push_back(Precision::kDefault);
        break;
    }
  }
  const bool plain = std::all_of(precision.begin(), precision.end(),
                                 [](Precision p) { return p == Precision::kDefault; });
  if (plain) precision.clear();
  return precision;
}

std::optional<DotAlgorithm> algorithm_of(const hlo::PrecisionConfig& config) {
  using Config = hlo::PrecisionConfig;
  const auto make = [](DType operands, DType accumulation, int operations = 1, int components = 1) {
    DotAlgorithm algorithm;
    algorithm.lhs = algorithm.rhs = operands;
    algorithm.accumulation = accumulation;
    algorithm.lhs_components = algorithm.rhs_components = components;
    algorithm.primitive_operations = operations;
    return algorithm;
  };
  switch (config.algorithm()) {
    case Config::ALG_DOT_F16_F16_F16:
      return make(DType::kF16, DType::kF16);
    case Config::ALG_DOT_F16_F16_F32:
      return make(DType::kF16, DType::kF32);
    case Config::ALG_DOT_BF16_BF16_BF16:
      return make(DType::kBF16, DType::kBF16);
    case Config::ALG_DOT_BF16_BF16_F32:
      return make(DType::kBF16, DType::kF32);
    case Config::ALG_DOT_BF16_BF16_F32_X3:
      return make(DType::kBF16, DType::kF32, 3, 2);
    case Config::ALG_DOT_BF16_BF16_F32_X6:
      return make(DType::kBF16, DType::kF32, 6, 3);
    case Config::ALG_DOT_BF16_BF16_F32_X9:
      return make(DType::kBF16, DType::kF32, 9, 3);
    case Config::ALG_DOT_F32_F32_F32:
      return make(DType::kF32, DType::kF32);
    case Config::ALG_DOT_F64_F64_F64:
      return make(DType::kF64, DType::kF64);
    // There is no tf32 type: float32 is at least as exact.
    case Config::ALG_DOT_TF32_TF32_F32:
    case Config::ALG_DOT_TF32_TF32_F32_X3:
      return make(DType::kF32, DType::kF32);
    default:
      return std::nullopt;
  }
}

}  // namespace spmd::hlo_proto
