// OpCode and what the op table says about it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace spmd {

enum class OpFamily : uint8_t {
  kElementwise,
  kShape,
  kContraction,
  kAttention,
  kConvolution,
  kLinalg,
  kReduction,
  kIndexing,
  kWindow,
  kOrdering,
  kRandom,
  kControlFlow,
  kCollective,
  kExpanded,
};

enum class OpCode : uint8_t {
#define SPMD_OP(enumerator, spelling, family, attrs) enumerator,
#include "ir/ops.def"
#undef SPMD_OP
};

inline constexpr int kNumOpCodes = 0
#define SPMD_OP(enumerator, spelling, family, attrs) +1
#include "ir/ops.def"
#undef SPMD_OP
    ;

std::string_view name_of(OpCode code);  // "stablehlo.add"
OpFamily family_of(OpCode code);
std::optional<OpCode> opcode_named(std::string_view name);

// Properties of the elementwise and reducer ops.
bool is_commutative(OpCode code);
// Has an effect or meaning beyond its results: never removed for lack of users.
bool has_side_effect(OpCode code);

}  // namespace spmd
