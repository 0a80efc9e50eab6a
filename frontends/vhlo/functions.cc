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
  const Arguments arguments = add_arguments(body, from.find("arg_attrs"));
  import_operations(body, fn_->body());
  check_terminator(op.offset);
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

// Programs of jax.export may leave sizes open.
void Importer::check_sizes(const Operation& module) {
  for (const Operation& op : module.regions[0].operations) {
    if (name_of(op).text != "stablehlo.func" || op.regions.size() != 1) continue;
    const auto& arguments = op.regions[0].arguments;
    for (size_t i = 0; i < arguments.size(); ++i) {
      const Dims& shape = types_.at(arguments[i].type).shape;
      if (std::find(shape.begin(), shape.end(), kDynamic) == shape.end()) continue;
      LocationRef name;
      if (arguments[i].location) name = locations_.at(*arguments[i].location);
      origin_.fail(
          op.offset,
          fmt::format("the size of a dimension of argument {}{} is not known", i,
                      name == nullptr ? "" : " (" + escape(name->to_string()) + ")"),
          "export the program for one size, without symbolic dimensions: "
          "jax.export.export(jax.jit(f))(jax.ShapeDtypeStruct((8, 4), jax.numpy.float32))");
    }
  }
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
