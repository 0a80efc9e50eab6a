// Manual regions as sdy writes them into StableHLO and HLO: their body is a function, and borders
// around its call change shapes.
#include <algorithm>

#include "ir/builder.h"
#include "ir/manual_regions.h"
#include "sharding/spec/tile_assignment.h"
#include "support/error.h"

namespace spmd {
namespace {

constexpr std::string_view kInShardings = "xla.sdy.in_shardings";
constexpr std::string_view kOutShardings = "xla.sdy.out_shardings";
constexpr std::string_view kManualAxes = "xla.sdy.manual_axes";

bool is_border(const Op* op, std::string_view target) {
  return op != nullptr && op->code == OpCode::kCustomCall &&
         op->as<CustomCallAttrs>().target == target;
}

const std::string* text_of(const Op* border, std::string_view key) {
  if (border == nullptr) return nullptr;
  for (const auto& [name, text] : border->as<CustomCallAttrs>().frontend_attributes) {
    if (name == key) return &text;
  }
  return nullptr;
}

// One region: the border before it (null when the body takes nothing), the call, the border after.
class ManualCall {
 public:
  ManualCall(const Module& module, Function& fn, OpId leave, const MeshLookup& meshes)
      : module_(module), fn_(fn), leave_(leave), meshes_(meshes) {}

  void raise() {
    find_call();
    find_enter();
    ManualComputationAttrs attrs;
    attrs.in_shardings = shardings(enter_, kInShardings, num_entering_);
    attrs.out_shardings = shardings(leave_, kOutShardings, fn_.op(leave_).results.size());
    attrs.manual_axes = manual_axes();
    std::vector<ValueId> operands;
    std::vector<Sharding> placed;
    for (ValueId local : fn_.op(call_).operands) {
      const uint32_t index = fn_.value(local).index;
      operands.push_back(fn_.op(enter_).operands[index]);
      placed.push_back(attrs.in_shardings[index]);
    }
    attrs.in_shardings = std::move(placed);
    std::vector<TensorType> types;
    for (ValueId result : fn_.op(leave_).results) types.push_back(fn_.type(result));
    const OpId manual =
        fn_.insert_op(fn_.op(leave_).block, leave_, OpCode::kManualComputation, std::move(operands),
                      std::move(types), std::move(attrs), fn_.op(call_).location);
    fill(manual);
    replace_leave(manual);
  }

 private:
  [[noreturn]] void fail(OpId id, const std::string& fact) const {
    const Op& op = fn_.op(id);
    throw UserError(op.location ? op.location->to_string() : module_.source,
                    fmt::format("{}: {}", op.as<CustomCallAttrs>().target, fact),
                    "export the program again, without tools that change it in between");
  }

  void find_call() {
    const ValueIds& taken = fn_.op(leave_).operands;
    if (taken.empty() || taken.size() != fn_.op(leave_).results.size()) {
      fail(leave_, "has not one operand per result");
    }
    call_ = fn_.value(taken[0]).def;
    for (ValueId value : taken) {
      const Op* def = fn_.def(value);
      if (def == nullptr || def->code != OpCode::kCall || fn_.value(value).def != call_ ||
          def->block != fn_.op(leave_).block) {
        fail(leave_, "does not take its operands from the body of one region");
      }
    }
    for (ValueId result : fn_.op(call_).results) {
      for (const Use& use : fn_.value(result).uses) {
        if (use.op != leave_) fail(leave_, "a value of the region is used outside of it");
      }
    }
  }

  void find_enter() {
    for (ValueId operand : fn_.op(call_).operands) {
      const Op* def = fn_.def(operand);
      if (!is_border(def, "xla.sdy.GlobalToLocalShape") ||
          (enter_ != OpId::kNone && fn_.value(operand).def != enter_)) {
        fail(leave_, "the body of the region takes a value that is not one of its operands");
      }
      enter_ = fn_.value(operand).def;
      if (def->operands.size() != def->results.size()) {
        fail(enter_, "has not one operand per result");
      }
      num_entering_ = def->results.size();
    }
  }

  // In the border's own attribute, or in what the other border has of the call.
  const std::string* text(OpId border, std::string_view key) const {
    for (OpId id : {border, enter_, leave_}) {
      if (id == OpId::kNone) continue;
      if (const std::string* found = text_of(&fn_.op(id), key)) return found;
    }
    return nullptr;
  }

  std::vector<Sharding> shardings(OpId border, std::string_view key, size_t count) const {
    if (count == 0) return {};
    const std::string* found = text(border, key);
    if (found == nullptr) fail(border, fmt::format("lacks its attribute {}", key));
    const std::string place = place_of(border);
    std::vector<Sharding> result;
    for (NamedSharding& named : parse_sdy_sharding_per_value(*found, meshes_, place)) {
      result.push_back(on_module_mesh(std::move(named), border));
    }
    if (result.size() != count) {
      fail(border, fmt::format("{} holds {} shardings for {} values", key, result.size(), count));
    }
    return result;
  }

  Sharding on_module_mesh(NamedSharding named, OpId border) const {
    if (named.mesh == module_.mesh) return std::move(named.sharding);
    try {
      return sharding_on_mesh(named.sharding, named.mesh, module_.mesh, named.sharding.rank());
    } catch (const UserError& error) {
      fail(border, error.what());
    }
  }

  AxisList manual_axes() const {
    const std::string* found = text(leave_, kManualAxes);
    if (found == nullptr) fail(leave_, "does not say which mesh axes are manual");
    return parse_sdy_manual_axes(*found, module_.mesh, place_of(leave_));
  }

  std::string place_of(OpId id) const {
    const LocationRef& location = fn_.op(id).location;
    return location ? location->to_string() : module_.source;
  }

  // The region calls the body.
  void fill(OpId manual) {
    const BlockId region = fn_.add_region(manual);
    std::vector<ValueId> arguments;
    for (ValueId local : fn_.op(call_).operands) {
      arguments.push_back(fn_.add_block_argument(region, fn_.type(local)));
    }
    fn_.set_operands(call_, arguments);
    fn_.move_op(call_, region, OpId::kNone);
    fn_.insert_op(region, OpId::kNone, OpCode::kReturn, fn_.op(leave_).operands, {}, NoAttrs{},
                  fn_.op(leave_).location);
  }

  void replace_leave(OpId manual) {
    for (size_t i = 0; i < fn_.op(leave_).results.size(); ++i) {
      const ValueId old = fn_.op(leave_).results[i], result = fn_.op(manual).results[i];
      fn_.value(result).sharding = fn_.value(old).sharding;
      fn_.replace_all_uses(old, result);
    }
    fn_.erase_op(leave_);
  }

  const Module& module_;
  Function& fn_;
  OpId leave_;
  const MeshLookup& meshes_;
  OpId call_ = OpId::kNone, enter_ = OpId::kNone;
  size_t num_entering_ = 0;
};

}  // namespace

void keep_manual_attributes(Function& fn, OpId call, const FrontendAttributes& attributes) {
  if (fn.op(call).operands.empty()) return;
  const OpId enter = fn.value(fn.op(call).operands[0]).def;
  if (enter == OpId::kNone || !is_border(&fn.op(enter), "xla.sdy.GlobalToLocalShape")) return;
  FrontendAttributes& kept = fn.op(enter).as<CustomCallAttrs>().frontend_attributes;
  for (const auto& [key, text] : attributes) {
    if (text_of(&fn.op(enter), key) == nullptr) kept.emplace_back(key, text);
  }
}

void raise_manual_calls(Module& module, const MeshLookup& meshes) {
  for (const auto& fn : module.functions()) {
    std::vector<OpId> leaving, entering;
    walk(*fn, [&](OpId id) {
      if (is_border(&fn->op(id), "xla.sdy.LocalToGlobalShape")) leaving.push_back(id);
      if (is_border(&fn->op(id), "xla.sdy.GlobalToLocalShape")) entering.push_back(id);
    });
    for (OpId leave : leaving) ManualCall(module, *fn, leave, meshes).raise();
    for (OpId enter : entering) {
      const ValueIds& results = fn->op(enter).results;
      const bool unused = std::all_of(results.begin(), results.end(),
                                      [&](ValueId v) { return fn->value(v).uses.empty(); });
      if (unused) fn->erase_op(enter);
    }
  }
}

}  // namespace spmd
