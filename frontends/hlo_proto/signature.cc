#include "frontends/hlo_proto/signature.h"

#include "frontends/hlo_proto/names.h"
#include "support/error.h"

namespace spmd::hlo_proto {
namespace {

void set_argument_shardings(Function& main, size_t first,
                            const std::vector<ShardingRef>& shardings) {
  for (size_t i = 0; i < shardings.size(); ++i) {
    main.value(main.arguments()[first + i]).sharding = shardings[i];
  }
}

// Shardings of a whole parameter or of the result, from wherever the file has them.
std::vector<ShardingRef> parameter_shardings(ModuleContext& context,
                                             const hlo::HloModuleProto& proto, int number,
                                             const Instruction& parameter,
                                             const std::vector<TensorType>& types) {
  const std::string place = context.place(parameter);
  std::vector<ShardingRef> found = context.shardings.of(parameter, types, place);
  if (found.empty() && number < proto.spmd_parameters_shardings_size()) {
    found = context.shardings.of(proto.spmd_parameters_shardings(number), types, place);
  }
  return found;
}

// Exporters that pass all arguments as one tuple keep the shardings at the module.
std::vector<ShardingRef> module_shardings(ModuleContext& context, const hlo::HloModuleProto& proto,
                                          const char* key, const std::vector<TensorType>& types) {
  const std::string* text = find_attribute(proto.frontend_attributes(), key);
  if (text == nullptr) return {};
  const std::string place = fmt::format("{}: frontend attribute {}", context.source, key);
  std::vector<ShardingRef> shardings = context.shardings.parse(*text, types, place);
  if (shardings.size() != types.size()) {
    throw UserError(place,
                    fmt::format("found {} shardings for {} values", shardings.size(), types.size()),
                    kDamaged);
  }
  return shardings;
}

// The instruction whose sharding is that of result leaf `index`, looking through what does not
// change the value.
const Instruction* result_annotation(ModuleContext& context, const Computation& entry, int number) {
  while (true) {
    const Instruction& instruction = entry.instruction(number);
    if (instruction.opcode() == "custom-call" &&
        instruction.custom_call_target() == "xla.sdy.FuncResultSharding") {
      return &instruction;
    }
    if ((instruction.opcode() != "reshape" && instruction.opcode() != "copy") ||
        instruction.operand_ids_size() != 1) {
      return nullptr;
    }
    number = context.computations.operand(entry, number, 0);
  }
}

// Numbers of the instructions that give the results one by one; empty when the root is not a flat
// tuple made in place.
std::vector<int> result_instructions(ModuleContext& context, const Computation& entry,
                                     size_t count) {
  const Instruction& root = entry.root_instruction();
  std::vector<int> numbers;
  if (root.opcode() != "tuple") {
    if (count == 1) numbers.push_back(entry.root);
    return numbers;
  }
  if (static_cast<size_t>(root.operand_ids_size()) != count) return numbers;
  for (int i = 0; i < root.operand_ids_size(); ++i) {
    numbers.push_back(context.computations.operand(entry, entry.root, i));
  }
  return numbers;
}

std::vector<ShardingRef> result_shardings(ModuleContext& context, const hlo::HloModuleProto& proto,
                                          const std::vector<TensorType>& types) {
  std::vector<ShardingRef> found =
      module_shardings(context, proto, "xla.sdy.tuple_results_shardings", types);
  if (!found.empty()) return found;
  const Computation& entry = context.computations.entry();
  const Instruction& root = entry.root_instruction();
  if (!context.shardings.uses_sdy()) {
    if (root.has_sharding())
      return context.shardings.of(root.sharding(), types, context.place(root));
    if (proto.has_spmd_output_sharding()) {
      return context.shardings.of(proto.spmd_output_sharding(), types, context.source);
    }
  }
  found.resize(types.size());
  const std::vector<int> numbers = result_instructions(context, entry, types.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    const Instruction* annotation = result_annotation(context, entry, numbers[i]);
    if (annotation == nullptr) continue;
    const auto sharding = context.shardings.of(*annotation, {types[i]}, context.place(*annotation));
    if (!sharding.empty()) found[i] = sharding.front();
  }
  return found;
}

// First leaves of the entry's parameters among main()'s arguments.
std::vector<size_t> first_arguments(const Computation& entry) {
  std::vector<size_t> first = {0};
  for (int parameter : entry.parameters) {
    first.push_back(first.back() +
                    static_cast<size_t>(count_leaves(entry.instruction(parameter).shape())));
  }
  return first;
}

class Aliasing {
 public:
  Aliasing(ModuleContext& context, Function& main)
      : context_(context),
        main_(main),
        entry_(context.computations.entry()),
        first_(first_arguments(entry_)),
        result_taken_(main.result_info.size(), false) {}

  void add(const hlo::HloInputOutputAliasProto& proto) {
    for (const auto& alias : proto.entries()) {
      const LeafRange argument =
          argument_leaves(alias.parameter_number(), alias.parameter_shape_index());
      const auto result =
          context_.leaves_at(entry_.root_instruction().shape(), alias.output_shape_index());
      if (!result || result->count != argument.count ||
          result->first + result->count > static_cast<int64_t>(main_.result_info.size())) {
        fail("input_output_alias names a result that does not exist");
      }
      for (int64_t i = 0; i < argument.count; ++i) {
        alias_leaf(static_cast<size_t>(argument.first + i), static_cast<size_t>(result->first + i));
      }
    }
  }

  void add(const hlo::HloBufferDonorProto& proto) {
    for (const auto& donor : proto.entries()) {
      const LeafRange argument =
          argument_leaves(donor.parameter_number(), donor.parameter_shape_index());
      for (int64_t i = 0; i < argument.count; ++i) {
        main_.argument_info[static_cast<size_t>(argument.first + i)].donated = true;
      }
    }
  }

 private:
  LeafRange argument_leaves(int64_t number, const google::protobuf::RepeatedField<int64_t>& index) {
    if (number < 0 || number >= static_cast<int64_t>(entry_.parameters.size())) {
      fail(fmt::format("aliasing names argument {} of {}", number, entry_.parameters.size()));
    }
    const auto at = static_cast<size_t>(number);
    const auto leaves =
        context_.leaves_at(entry_.instruction(entry_.parameters[at]).shape(), index);
    if (!leaves) fail(fmt::format("aliasing names a part of argument {} that it has not", number));
    return {leaves->first + static_cast<int64_t>(first_[at]), leaves->count};
  }

  void alias_leaf(size_t argument, size_t result) {
    const TensorType& old_type = main_.type(main_.arguments()[argument]);
    const TensorType& new_type = main_.type(main_.results()[result]);
    if (!(old_type == new_type)) {
      fail(fmt::format("result {} of type {} replaces argument {} of type {}", result,
                       to_string(new_type), argument, to_string(old_type)));
    }
    if (result_taken_[result]) fail(fmt::format("result {} replaces two arguments", result));
    result_taken_[result] = true;
    main_.argument_info[argument].aliased_result = static_cast<int>(result);
  }

  [[noreturn]] void fail(const std::string& fact) {
    throw UserError(context_.source, fact, kDamaged);
  }

  ModuleContext& context_;
  Function& main_;
  const Computation& entry_;
  std::vector<size_t> first_;
  std::vector<bool> result_taken_;
};

}  // namespace

std::vector<std::vector<ValueId>> add_entry_arguments(ModuleContext& context,
                                                      const hlo::HloModuleProto& proto,
                                                      Function& main) {
  const Computation& entry = context.computations.entry();
  std::vector<std::vector<ValueId>> parameters;
  for (size_t number = 0; number < entry.parameters.size(); ++number) {
    const Instruction& parameter = entry.instruction(entry.parameters[number]);
    const std::vector<TensorType> types = leaf_types(parameter.shape(), context.place(parameter));
    const size_t first = main.arguments().size();
    std::vector<ValueId>& leaves = parameters.emplace_back();
    for (const TensorType& type : types) {
      leaves.push_back(main.add_block_argument(main.body(), type));
    }
    set_argument_shardings(
        main, first,
        parameter_shardings(context, proto, static_cast<int>(number), parameter, types));
    main.argument_info.resize(main.arguments().size());
    if (parameter.shape().element_type() != hlo::TUPLE) {
      main.argument_info.back().name = argument_name(parameter);
    }
  }
  std::vector<TensorType> types;
  for (ValueId argument : main.arguments()) types.push_back(main.type(argument));
  set_argument_shardings(main, 0,
                         module_shardings(context, proto, "xla.sdy.tuple_args_shardings", types));
  return parameters;
}

void add_entry_results(ModuleContext& context, const hlo::HloModuleProto& proto, Function& main) {
  std::vector<TensorType> types;
  for (ValueId result : main.results()) types.push_back(main.type(result));
  main.result_info.resize(types.size());
  const std::vector<ShardingRef> shardings = result_shardings(context, proto, types);
  for (size_t i = 0; i < shardings.size(); ++i) main.result_info[i].sharding = shardings[i];

  const Computation& entry = context.computations.entry();
  const std::vector<int> producers = result_instructions(context, entry, types.size());
  for (size_t i = 0; i < producers.size(); ++i) {
    main.result_info[i].name = result_name(entry.instruction(producers[i]));
  }

  Aliasing aliasing(context, main);
  aliasing.add(proto.input_output_alias());
  aliasing.add(proto.buffer_donor());
  for (const ArgumentInfo& argument : main.argument_info) {
    if (argument.aliased_result < 0) continue;
    ResultInfo& result = main.result_info[static_cast<size_t>(argument.aliased_result)];
    if (!argument.name.empty()) result.name = argument.name;
  }
}

}  // namespace spmd::hlo_proto
