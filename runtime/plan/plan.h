// Reading, writing and checking a Plan (see plan.proto).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/plan/plan.pb.h"
#include "support/rank_pairs.h"

namespace spmd::plan {

inline constexpr uint32_t kPlanMagic = 0x4e4c5053;  // "SPLN"
// Raised with each change of the schema. A change that older readers cannot ignore raises
// kReaderVersion to the same number.
inline constexpr uint32_t kPlanVersion = 5;
inline constexpr uint32_t kReaderVersion = 5;

// The plan's bytes, its header filled in. Equal plans give equal bytes.
std::string serialize_plan(const Plan& plan);

// The inverse. The header is read before anything else, so that a plan of another version is
// refused as such. `source` names the bytes in messages. The result has passed verify_plan. Throws
// UserError.
Plan parse_plan(std::string_view bytes, const std::string& source);

// Throws UserError naming the step and what is wrong with it, when executing the plan could touch
// memory outside its buffers or meet a step that says too little. `place` begins the message.
void verify_plan(const Plan& plan, const std::string& place = "plan");

// ---- small helpers over the Plan's messages

inline int64_t element_count(const google::protobuf::RepeatedField<int64_t>& shape) {
  int64_t count = 1;
  for (int64_t size : shape) count *= size;
  return count;
}
inline std::vector<int64_t> dims_of(const google::protobuf::RepeatedField<int64_t>& field) {
  return {field.begin(), field.end()};
}

// An elementwise step that computes nothing: it copies one view to another.
inline bool is_copy(const Step& step) {
  const Elementwise& map = step.elementwise();
  return step.has_elementwise() && map.inputs_size() == 1 && map.outputs_size() == 1 &&
         map.program().instructions_size() == 0;
}

// Who sends to whom in a permute; nullopt when a run of pairs makes no sense.
std::optional<RankPairs> pairs_of(const Collective& permute);

// As the program names it, else by its number: "argument 3".
std::string argument_name(const Plan& plan, int index);

// "dot", "all_reduce", ...: the kind of a step in words.
std::string_view kind_name(const Step& step);
std::string_view kind_name(Collective::Kind kind);

}  // namespace spmd::plan
