#include <algorithm>

#include "frontends/vhlo/importer.h"
#include "support/error.h"

namespace spmd::vhlo {

using text::Attribute;
using Kind = Attribute::Kind;

void Importer::import_function(const Operation& op) {
  current_ = op.offset;
  const Dict attributes = attributes_of(op);
  const text::AttributeReader from = reader(attributes, "func.func", op.offset);
  const std::string name = from.string_or("sym_name", "");
  if (op.regions.size() != 1 || op.regions[0].operations.empty()) {
    origin_.fail(op.offset, fmt::format("@{} has no body", escape(name)));
  }
  begin_function(name, op.offset, from.string_or("sym_visibility", "") == "private");
  sources_.emplace_back();
  const Block& body = op.regions[0];
  Arguments arguments = add_arguments(body, from.find("arg_attrs"));
  if (open_) folding_.emplace(*fn_, [](ValueId) { return std::nullopt; });
  import_operations(body, fn_->body());
  check_terminator(op.offset);
  for (const auto& [argument, inner] : inner_names_) {
    if (arguments.locations[argument].empty()) arguments.locations[argument] = inner;
  }
  set_argument_info(arguments.attributes, arguments.locations,
                    result_attributes(body, from.find("res_attrs")));
}

namespace {

// The dictionary with a number in a list that may be shorter or missing.
const std::vector<text::NamedAttribute>& entry_of(const Attribute* list, size_t index) {
  static const std::vector<text::NamedAttribute> kNone;
  if (list == nullptr || index >= list->elements.size()) return kNone;
  return list->elements[index].entries;
}

}  // namespace

bool Importer::is_main(const Operation& op) {
  const Dict attributes = attributes_of(op);
  return op.regions.size() == 1 &&
         reader(attributes, "func.func", op.offset).string_or("sym_name", "") == "main";
}

// Programs of jax.export may leave sizes open. Does not read attributes, which may name meshes.
bool Importer::has_open_sizes(const Operation& module) {
  for (const Operation& op : module.regions[0].operations) {
    if (name_of(op).text != "stablehlo.func" || op.regions.size() != 1) continue;
    for (const mlir_bytecode::BlockArgument& argument : op.regions[0].arguments) {
      const Dims& shape = types_.at(argument.type).shape;
      if (std::find(shape.begin(), shape.end(), kDynamic) != shape.end()) return true;
    }
  }
  return false;
}

void Importer::close_sizes(const Operation& module) {
  std::vector<OpenArgument> arguments;
  for (const Operation& op : module.regions[0].operations) {
    if (name_of(op).text != "stablehlo.func" || !is_main(op)) continue;
    for (const mlir_bytecode::BlockArgument& argument : op.regions[0].arguments) {
      const size_t i = arguments.size();
      LocationRef name;
      if (argument.location) name = locations_.at(*argument.location);
      const bool named = name != nullptr && !name->name.empty();
      arguments.push_back({named ? name->name : fmt::format("arg{}", i),
                           types_.at(argument.type).shape,
                           i < dim_texts_.size() ? dim_texts_[i] : std::vector<std::string>()});
    }
  }
  vhlo::close_sizes(arguments, options_, origin_.source);
  for (OpenArgument& argument : arguments) argument_shapes_.push_back(std::move(argument.shape));
}

// Of a tuple, each leaf is an argument with the tuple's attributes.
Importer::Arguments Importer::add_arguments(const Block& block, const Attribute* attributes) {
  Arguments arguments;
  for (size_t i = 0; i < block.arguments.size(); ++i) {
    const mlir_bytecode::BlockArgument& argument = block.arguments[i];
    std::vector<TensorType> types;
    types_.add_leaves(argument.type, block.offset, types);
    LocationRef location;
    if (argument.location) location = locations_.at(*argument.location);
    const Dict& given = entry_of(attributes, i);
    std::vector<ValueId> values;
    if (open_ && types.size() == 1) {
      types[0].shape = argument_shapes_[i];
      if (!is_valid(types[0])) origin_.fail(block.offset, "a tensor is too large");
    }
    for (TensorType& type : types) {
      const int64_t rank = type.rank();
      values.push_back(fn_->add_block_argument(fn_->body(), std::move(type)));
      fn_->value(values.back()).sharding = sharding_of(given, rank);
      arguments.attributes.push_back(given);
      arguments.locations.push_back(location == nullptr ? "" : location->name);
    }
    const ValueId* next = values.data();
    define(block.first_argument + static_cast<uint32_t>(i), argument.type, block.offset, next);
  }
  return arguments;
}

std::vector<text::Dict> Importer::result_attributes(const Block& block,
                                                    const Attribute* attributes) {
  std::vector<Dict> results;
  const Operation& last = block.operations.back();
  for (size_t i = 0; i < last.operands.size(); ++i) {
    results.resize(results.size() + values_[last.operands[i]].count, entry_of(attributes, i));
  }
  results.resize(fn_->results().size());
  return results;
}

}  // namespace spmd::vhlo
