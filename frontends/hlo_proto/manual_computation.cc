// Emits a region of local shapes as sdy.manual_computation.
#include "frontends/hlo_proto/manual_regions.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

const Instruction* first_of(const Computation& computation, const std::vector<int>& numbers) {
  return numbers.empty() ? nullptr : &computation.instruction(numbers.front());
}

// A frontend attribute of a marker, or of a call in the body.
const std::string* region_attribute(const Computation& computation, const ManualRegion& region,
                                    const Instruction* marker, const char* key) {
  if (marker != nullptr) {
    if (const auto* text = find_attribute(marker->frontend_attributes(), key)) return text;
  }
  for (int number : region.body) {
    const Instruction& instruction = computation.instruction(number);
    if (instruction.opcode() != "call") continue;
    if (const auto* text = find_attribute(instruction.frontend_attributes(), key)) return text;
  }
  return nullptr;
}

class ManualEmitter {
 public:
  ManualEmitter(Emitter& outer, const ManualRegion& region)
      : outer_(outer),
        context_(outer.context()),
        computation_(outer.computation()),
        region_(region) {}

  void emit() {
    const Instruction& exit = computation_.instruction(region_.exits.front());
    std::vector<ValueId> operands;
    for (int entry : region_.entries) append_operands(entry, operands);
    std::vector<TensorType> types;
    for (int number : region_.exits) append_types(number, types);
    outer_.builder().location = context_.locations.of(exit.metadata());
    const OpId op = outer_.builder().create(OpCode::kManualComputation, operands, types,
                                            attributes(operands, types));
    emit_body(op);
    bind(region_.exits, outer_.function().op(op).results);
  }

 private:
  void append_operands(int number, std::vector<ValueId>& leaves) {
    for (int k = 0; k < computation_.instruction(number).operand_ids_size(); ++k) {
      const int operand = context_.computations.operand(computation_, number, k);
      const std::vector<ValueId> more = outer_.leaves_of(operand);
      leaves.insert(leaves.end(), more.begin(), more.end());
    }
  }

  void append_types(int number, std::vector<TensorType>& types) {
    const Instruction& instruction = computation_.instruction(number);
    append_leaf_types(instruction.shape(), context_.place(instruction), types);
  }

  // Gives each instruction as many of the values as it has leaves.
  void bind(const std::vector<int>& numbers, const std::vector<ValueId>& values) {
    size_t next = 0;
    for (int number : numbers) {
      const int64_t count = count_leaves(computation_.instruction(number).shape());
      const auto begin = values.begin() + static_cast<ptrdiff_t>(next);
      outer_.table().define(number, std::vector<ValueId>(begin, begin + count));
      next += static_cast<size_t>(count);
    }
  }

  void emit_body(OpId op) {
    Function& fn = outer_.function();
    const BlockId block = fn.add_region(op);
    std::vector<TensorType> types;
    for (int entry : region_.entries) append_types(entry, types);
    std::vector<ValueId> arguments;
    for (TensorType& type : types) arguments.push_back(fn.add_block_argument(block, type));
    bind(region_.entries, arguments);

    Emitter inner(context_, computation_, outer_.table(), fn, block);
    inner.inline_calls = true;
    std::vector<ValueTable::Range> outside;
    for (int number : region_.captured) outside.push_back(outer_.table().range(number));
    for (int number : region_.captured) inner.emit(number);
    for (int number : region_.body) inner.emit(number);
    for (size_t i = 0; i < outside.size(); ++i) {
      outer_.table().set_range(region_.captured[i], outside[i]);
    }
    std::vector<ValueId> results;
    for (int number : region_.exits) append_operands(number, results);
    inner.builder().location = outer_.builder().location;
    inner.builder().return_op(std::move(results));
  }

  ManualComputationAttrs attributes(const std::vector<ValueId>& operands,
                                    const std::vector<TensorType>& results) {
    ManualComputationAttrs attrs;
    std::vector<TensorType> operand_types;
    for (ValueId operand : operands) operand_types.push_back(outer_.type(operand));
    attrs.in_shardings = side(region_.entries, operand_types, "xla.sdy.in_shardings", true);
    attrs.out_shardings = side(region_.exits, results, "xla.sdy.out_shardings", false);
    attrs.manual_axes = manual_axes();
    return attrs;
  }

  std::vector<Sharding> side(const std::vector<int>& markers, const std::vector<TensorType>& types,
                             const char* key, bool entering) {
    std::vector<Sharding> shardings;
    for (int number : markers) {
      const Instruction& marker = computation_.instruction(number);
      if (marker.custom_call_target().starts_with("xla.sdy.")) {
        append_sdy(marker, key, shardings);
      } else {
        append_tiled(number, types, entering, shardings);
      }
    }
    if (shardings.size() != types.size()) {
      context_.fail(
          computation_.instruction(markers.empty() ? region_.exits.front() : markers.front()),
          fmt::format("found {} shardings for {} values that pass a region of local "
                      "shapes",
                      shardings.size(), types.size()));
    }
    return shardings;
  }

  void append_sdy(const Instruction& marker, const char* key, std::vector<Sharding>& shardings) {
    const std::string* text = region_attribute(computation_, region_, &marker, key);
    if (text == nullptr) context_.fail(marker, fmt::format("lacks its attribute {}", key));
    for (const ShardingRef& sharding : context_.shardings.parse(*text, context_.place(marker))) {
      shardings.push_back(*sharding);
    }
  }

  // The sharding of the whole: that of what goes in, or of the marker where it comes out.
  void append_tiled(int number, const std::vector<TensorType>& types, bool entering,
                    std::vector<Sharding>& shardings) {
    const Instruction& marker = computation_.instruction(number);
    const Instruction& whole =
        entering ? computation_.instruction(context_.computations.operand(computation_, number, 0))
                 : marker;
    if (!whole.has_sharding()) context_.fail(whole, "lacks its sharding");
    if (shardings.size() >= types.size()) context_.fail(marker, "has an operand too many");
    const TensorType& type = types[shardings.size()];
    const auto found = context_.shardings.of(whole.sharding(), {type}, context_.place(whole));
    shardings.push_back(found.empty() ? Sharding::replicate(type.rank()) : *found.front());
  }

  AxisList manual_axes() {
    const Instruction* entry = first_of(computation_, region_.entries);
    const Instruction* exit = first_of(computation_, region_.exits);
    for (const Instruction* marker : {entry, exit}) {
      const auto* text = region_attribute(computation_, region_, marker, "xla.sdy.manual_axes");
      if (text != nullptr)
        return context_.shardings.parse_manual_axes(*text, context_.place(*exit));
    }
    if (entry == nullptr || !entry->has_sharding()) {
      context_.fail(*exit, "does not say which mesh axes are manual");
    }
    const std::vector<TensorType> types = leaf_types(entry->shape(), context_.place(*entry));
    const auto found = context_.shardings.of(entry->sharding(), types, context_.place(*entry));
    if (found.empty() || found.front()->manual.empty()) {
      context_.fail(*entry, "does not say which mesh axes are manual");
    }
    return found.front()->manual;
  }

  Emitter& outer_;
  ModuleContext& context_;
  const Computation& computation_;
  const ManualRegion& region_;
};

}  // namespace

void emit_manual(Emitter& emitter, const ManualRegion& region) {
  ManualEmitter(emitter, region).emit();
}

}  // namespace spmd::hlo_proto
