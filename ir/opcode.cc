#include "ir/opcode.h"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace spmd {
namespace {

struct OpRow {
  std::string_view name;
  OpFamily family;
};

constexpr OpRow kOpRows[] = {
#define SPMD_OP(enumerator, spelling, family, attrs) {spelling, OpFamily::family},
#include "ir/ops.def"
#undef SPMD_OP
};

}  // namespace

std::string_view name_of(OpCode code) { return kOpRows[static_cast<size_t>(code)].name; }

OpFamily family_of(OpCode code) { return kOpRows[static_cast<size_t>(code)].family; }

std::optional<OpCode> opcode_named(std::string_view name) {
  static const auto* const by_name = [] {
    auto* map = new std::unordered_map<std::string_view, OpCode>;
    for (int i = 0; i < kNumOpCodes; ++i) map->emplace(kOpRows[i].name, static_cast<OpCode>(i));
    return map;
  }();
  const auto found = by_name->find(name);
  if (found == by_name->end()) return std::nullopt;
  return found->second;
}

bool is_commutative(OpCode code) {
  switch (code) {
    case OpCode::kAdd:
    case OpCode::kMultiply:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kAnd:
    case OpCode::kOr:
    case OpCode::kXor:
      return true;
    default:
      return false;
  }
}

bool has_side_effect(OpCode code) {
  return code == OpCode::kReturn || code == OpCode::kCustomCall || code == OpCode::kShardingGroup;
}

}  // namespace spmd
