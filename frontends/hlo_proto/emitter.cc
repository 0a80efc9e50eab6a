#include "frontends/hlo_proto/emitter.h"

#include "frontends/hlo_proto/handlers.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

// Regions are copied wherever they are used, so a small file can describe a huge program.
constexpr int64_t kMaxOps = 20'000'000;
constexpr int kMaxDepth = 100;

}  // namespace

ModuleContext::ModuleContext(const hlo::HloModuleProto& proto, const std::string& source_name,
                             const HloImportOptions& options)
    : source(source_name),
      places{source, options.places},
      computations(proto, places),
      shardings(proto, computations, source, options.num_devices),
      locations(proto, places) {}

int ModuleContext::function_of(const Computation& computation) {
  const auto [found, added] = functions_.emplace(computation.position, 0);
  if (!added) return found->second;
  std::string name = computation.proto->name();
  for (int suffix = 0; name.empty() || name == "main" || module.find_function(name); ++suffix) {
    name = fmt::format("{}_{}", computation.proto->name(), suffix);
  }
  const int function = module.add_function(name);
  module.function(function).set_private(true);
  pending.push_back(&computation);
  return found->second = function;
}

std::string ModuleContext::place(const Instruction& instruction) {
  std::string text = places.of(instruction);
  if (const LocationRef location = locations.find(instruction.metadata())) {
    text += fmt::format(" at {}", location->to_string());
  }
  return text;
}

std::string ModuleContext::place_of_op(const Function& fn, OpId op) {
  const std::vector<const Instruction*>& instructions = instructions_of_ops[&fn];
  const size_t number = index_of(op);
  const bool known = number < instructions.size() && instructions[number] != nullptr;
  return known ? place(*instructions[number]) : std::string();
}

void ModuleContext::fail(const Instruction& instruction, const std::string& fact,
                         const std::string& remedy) {
  throw UserError(place(instruction), fact, remedy);
}

LeafRange ModuleContext::element_leaves(const hlo::ShapeProto& tuple, int index) {
  std::vector<int64_t>& first = first_leaves_[&tuple];
  if (first.empty()) {
    first.push_back(0);
    for (const hlo::ShapeProto& element : tuple.tuple_shapes()) {
      first.push_back(first.back() + count_leaves(element));
    }
  }
  const auto at = static_cast<size_t>(index);
  return {first[at], first[at + 1] - first[at]};
}

std::optional<LeafRange> ModuleContext::leaves_at(
    const hlo::ShapeProto& shape, const google::protobuf::RepeatedField<int64_t>& index) {
  if (index.empty()) return LeafRange{0, count_leaves(shape)};
  const hlo::ShapeProto* at = &shape;
  LeafRange range;
  for (int64_t step : index) {
    if (at->element_type() != hlo::TUPLE || step < 0 || step >= at->tuple_shapes_size()) {
      return std::nullopt;
    }
    const LeafRange element = element_leaves(*at, static_cast<int>(step));
    range = {range.first + element.first, element.count};
    at = &at->tuple_shapes(static_cast<int>(step));
  }
  return range;
}

std::vector<ValueId> Emitter::run(const std::vector<std::vector<ValueId>>& arguments) {
  for (size_t i = 0; i < arguments.size(); ++i) {
    table_.define(computation_.parameters[i], arguments[i]);
  }
  for (int number = 0; number < computation_.size(); ++number) {
    if (computation_.instruction(number).opcode() != "parameter") emit(number);
  }
  return leaves_of(computation_.root);
}

void Emitter::emit(int number) {
  const Instruction& instruction = computation_.instruction(number);
  current_ = number;
  builder_.location = context_.locations.of(instruction);
  if (++context_.num_ops > kMaxOps) {
    fail(instruction, fmt::format("the program has more than {} ops", kMaxOps),
         "reuse computations with call instead of nesting them");
  }
  const Handler* handler = find_handler(instruction.opcode());
  SPMD_CHECK(handler != nullptr, "{} passed check_supported", instruction.opcode());
  const size_t first = function().num_op_ids();
  handler->emit(*this, instruction, handler->code);
  remember(instruction, first);
}

void Emitter::remember(const Instruction& instruction, size_t first) {
  std::vector<const Instruction*>& instructions = context_.instructions_of_ops[&function()];
  instructions.resize(function().num_op_ids(), nullptr);
  for (size_t i = first; i < instructions.size(); ++i) {
    if (instructions[i] == nullptr) instructions[i] = &instruction;
  }
}

std::vector<ValueId> Emitter::leaves_of(int number) const {
  const ValueTable::Range range = table_.range(number);
  std::vector<ValueId> leaves;
  leaves.reserve(range.count);
  for (uint32_t i = 0; i < range.count; ++i) leaves.push_back(table_.leaf(range.first + i));
  return leaves;
}

std::vector<ValueId> Emitter::all_operands() const {
  std::vector<ValueId> leaves;
  for (int i = 0; i < computation_.instruction(current_).operand_ids_size(); ++i) {
    const ValueTable::Range range = table_.range(operand_number(i));
    for (uint32_t k = 0; k < range.count; ++k) {
      leaves.push_back(table_.leaf(range.first + k));
    }
  }
  return leaves;
}

ValueId Emitter::operand(int index) {
  const ValueTable::Range range = table_.range(operand_number(index));
  if (range.count != 1) {
    fail(computation_.instruction(current_),
         fmt::format("operand {} is a tuple of {}, expected a tensor", index, range.count));
  }
  return table_.leaf(range.first);
}

int64_t Emitter::single_dim(const Instruction& instruction) {
  if (instruction.dimensions_size() != 1) {
    fail(instruction, fmt::format("has {} dimensions, expected 1", instruction.dimensions_size()));
  }
  return instruction.dimensions(0);
}

std::vector<TensorType> Emitter::result_types(const Instruction& instruction) {
  std::vector<TensorType> types;
  if (instruction.shape().element_type() != hlo::TUPLE) {  // the common case, without a place
    static const std::string kNoPlace;
    try {
      types.push_back(type_of(instruction.shape(), kNoPlace));
    } catch (const UserError&) {
      type_of(instruction.shape(), context_.place(instruction));
    }
  } else {
    types = leaf_types(instruction.shape(), context_.place(instruction));
  }
  if (map_shape) {
    for (TensorType& type : types) type.shape = *map_shape;
  }
  return types;
}

TensorType Emitter::result_type(const Instruction& instruction) {
  std::vector<TensorType> types = result_types(instruction);
  if (types.size() != 1) {
    fail(instruction, fmt::format("gives {} values, expected one tensor", types.size()));
  }
  return std::move(types.front());
}

void Emitter::set_shardings(const Instruction& instruction, const std::vector<ValueId>& leaves) {
  if (!instruction.has_sharding() && instruction.frontend_attributes().map().empty()) return;
  std::vector<TensorType> types;
  for (ValueId leaf : leaves) types.push_back(type(leaf));
  const std::vector<ShardingRef> shardings =
      context_.shardings.of(instruction, types, context_.place(instruction));
  for (size_t i = 0; i < shardings.size(); ++i) {
    // Inside a region of local shapes "manual" only repeats what the region says.
    if (shardings[i] == nullptr || !shardings[i]->manual.empty()) continue;
    function().value(leaves[i]).sharding = shardings[i];
  }
}

OpId Emitter::create(const Instruction& instruction, OpCode code, std::vector<ValueId> operands,
                     Attrs attrs) {
  const OpId op =
      builder_.create(code, std::move(operands), result_types(instruction), std::move(attrs));
  const ValueIds& results = function().op(op).results;
  define(results);
  set_shardings(instruction, results);
  return op;
}

std::vector<std::vector<ValueId>> Emitter::split(const Computation& body,
                                                 const std::vector<ValueId>& leaves) {
  std::vector<std::vector<ValueId>> parts(body.parameters.size());
  size_t next = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t count = count_leaves(body.instruction(body.parameters[i]).shape());
    for (int64_t k = 0; k < count && next < leaves.size(); ++k) parts[i].push_back(leaves[next++]);
    if (static_cast<int64_t>(parts[i].size()) != count) next = leaves.size() + 1;
  }
  if (next != leaves.size()) {
    fail(computation_.instruction(current_),
         fmt::format("computation \"{}\" is given {} values and expects another number",
                     body.proto->name(), leaves.size()));
  }
  return parts;
}

std::vector<ValueId> Emitter::run_nested(const Computation& body, BlockId block,
                                         const std::vector<ValueId>& leaves) {
  if (++context_.depth > kMaxDepth) {
    fail(computation_.instruction(current_),
         fmt::format("computations are nested more than {} deep", kMaxDepth));
  }
  ValueTable table(body);
  Emitter nested(context_, body, table, function(), block);
  nested.map_shape = map_shape;
  const std::vector<ValueId> results = nested.run(split(body, leaves));
  --context_.depth;
  return results;
}

std::vector<ValueId> Emitter::add_arguments(BlockId block, const Computation& body) {
  std::vector<ValueId> arguments;
  for (int parameter : body.parameters) {
    for (TensorType& type : result_types(body.instruction(parameter))) {
      arguments.push_back(function().add_block_argument(block, std::move(type)));
    }
  }
  return arguments;
}

void Emitter::add_region(OpId op, const Computation& body) {
  const BlockId block = function().add_region(op);
  const std::vector<ValueId> arguments = add_arguments(block, body);
  Builder inner(function(), block);
  inner.location = builder_.location;
  inner.return_op(run_nested(body, block, arguments));
}

void Emitter::add_closed_region(OpId op, const Computation& body,
                                const std::vector<ValueId>& leaves) {
  const BlockId block = function().add_region(op);
  Builder inner(function(), block);
  inner.location = builder_.location;
  inner.return_op(run_nested(body, block, leaves));
}

std::vector<ValueId> Emitter::emit_inline(const Computation& body,
                                          const std::vector<ValueId>& leaves) {
  return run_nested(body, builder_.block(), leaves);
}

}  // namespace spmd::hlo_proto
