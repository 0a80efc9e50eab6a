// Targets of custom-call that stand for ops or annotations.
#include <charconv>

#include "frontends/hlo_proto/handlers.h"
#include "frontends/hlo_proto/top_k.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

// The value is the operand's.
void pass_through(Emitter& emitter, const Instruction&, OpCode) {
  emitter.define(emitter.operand_leaves(0));
}

// "unspecified_dims=[1,2]": the dimensions that propagation may shard further.
std::vector<int64_t> unspecified_dims(const std::string& config) {
  std::vector<int64_t> dims;
  size_t at = config.find("unspecified_dims=[");
  if (at == std::string::npos) return dims;
  for (at += 18; at < config.size() && config[at] != ']'; ++at) {
    const bool digit = config[at] >= '0' && config[at] <= '9';
    if (!digit) continue;
    int64_t dim = 0;
    for (; at < config.size() && config[at] >= '0' && config[at] <= '9' && dim < 1000; ++at) {
      dim = dim * 10 + (config[at] - '0');
    }
    dims.push_back(dim);
    --at;
  }
  return dims;
}

void sharding(Emitter& emitter, const Instruction& instruction, OpCode) {
  ModuleContext& context = emitter.context();
  const ValueId operand = emitter.operand(0);
  const std::vector<ShardingRef> found =
      context.shardings.of(instruction, {emitter.type(operand)}, context.place(instruction));
  // A group of values to shard alike, or a manual region's border, says nothing by itself.
  if (found.empty() || found.front() == nullptr || !found.front()->manual.empty()) {
    emitter.define({operand});
    return;
  }
  ReshardAttrs attrs{*found.front()};
  for (int64_t dim : unspecified_dims(instruction.backend_config())) {
    if (dim < attrs.sharding.rank()) attrs.sharding.dims[static_cast<size_t>(dim)].open = true;
  }
  const OpId op = emitter.builder().create(OpCode::kShardingConstraint, {operand},
                                           {emitter.type(operand)}, std::move(attrs));
  emitter.define(emitter.function().op(op).results);
}

// k is the size of the result, whatever attributes repeat it.
void top_k_call(Emitter& emitter, const Instruction& instruction, OpCode) {
  const std::vector<TensorType> types = emitter.result_types(instruction);
  emitter.require(instruction, types.size() == 2 && types[0].rank() > 0,
                  "does not give values and indices");
  std::string config = instruction.backend_config();
  for (const auto& entry : instruction.frontend_attributes().map()) {
    config += " " + entry.key() + " " + entry.value();
  }
  const bool smallest = config.find("largest = false") != std::string::npos ||
                        config.find("largest=false") != std::string::npos ||
                        config.find("\"largest\":false") != std::string::npos;
  emit_top_k(emitter, instruction, types[0].shape.back(), !smallest);
}

// The number that a frontend attribute "21 : i64" begins with.
int64_t number_attribute(Emitter& emitter, const Instruction& instruction, const char* key) {
  const std::string* text = find_attribute(instruction.frontend_attributes(), key);
  int64_t value = 0;
  if (text != nullptr &&
      std::from_chars(text->data(), text->data() + text->size(), value).ec == std::errc()) {
    return value;
  }
  emitter.fail(instruction, fmt::format("has no number \"{}\"", key));
}

void sharding_group(Emitter& emitter, const Instruction& instruction, OpCode) {
  const int64_t group = number_attribute(emitter, instruction, "xla.sdy.sharding_group_id");
  emitter.builder().create(OpCode::kShardingGroup, {emitter.operand(0)}, ShardingGroupAttrs{group});
  emitter.define(instruction.shape().element_type() == hlo::TUPLE
                     ? std::vector<ValueId>()
                     : std::vector<ValueId>{emitter.operand(0)});
}

void propagation_barrier(Emitter& emitter, const Instruction& instruction, OpCode code) {
  const int64_t direction = number_attribute(emitter, instruction, "xla.sdy.allowed_direction");
  if (direction < 0 || direction > 3) emitter.fail(instruction, "has an unknown direction");
  emitter.create(instruction, code, {emitter.operand(0)},
                 PropagationBarrierAttrs{static_cast<PropagationDirection>(direction)});
}

void unary(Emitter& emitter, const Instruction& instruction, OpCode code) {
  emitter.create(instruction, code, {emitter.operand(0)});
}

}  // namespace

std::span<const Handler> custom_call_handlers() {
  static constexpr Handler kHandlers[] = {
      {"Sharding", sharding},
      {"TopK", top_k_call},
      {"annotate_device_placement", pass_through},
      {"chlo.top_k", top_k_call},
      {"mhlo.erf", unary, OpCode::kErf},
      {"mhlo.topk", top_k_call},
      {"xla.sdy.FuncResultSharding", pass_through},
      {"xla.sdy.PropagationBarrier", propagation_barrier, OpCode::kPropagationBarrier},
      {"xla.sdy.ShardingGroup", sharding_group},
  };
  return kHandlers;
}

}  // namespace spmd::hlo_proto
