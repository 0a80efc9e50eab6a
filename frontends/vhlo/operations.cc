#include "frontends/vhlo/importer.h"
#include "frontends/vhlo/rewrite.h"
#include "support/error.h"

namespace spmd::vhlo {

using mlir_bytecode::Cursor;
using text::Attribute;
using Kind = Attribute::Kind;

void Importer::import_operations(const Block& from, BlockId block) {
  for (const Operation& op : from.operations) {
    if (!import_plumbing(op)) import_operation(op, block);
  }
}

void Importer::import_operation(const Operation& op, BlockId block) {
  const LocationRef location = locations_.at(op.location);
  placed_.emplace(op.offset, location);
  current_ = op.offset;
  text::GenericOp generic;
  generic.position = op.offset;
  generic.spelling = name_of(op).text;
  const auto code = text::code_of(generic.spelling);
  if (!code) fail(op.offset, fmt::format("{} is not expected here", generic.spelling));
  generic.code = *code;
  generic.operands = operands_of(op);
  const OpId id = create_open(generic, block, location == nullptr ? unknown_location_ : location);
  sources_.back().resize(index_of(id) + 1, nullptr);
  sources_.back()[index_of(id)] = &op;
  for (const Block& region : op.regions) import_region(region, id);
  // After the regions, whose operations are read in between.
  current_ = op.offset;
  generic.attributes = attributes_of(op);
  define_results(op, complete(generic, id, result_types(op)));
}

void Importer::import_region(const Block& from, OpId op) {
  const BlockId block = fn_->add_region(op);
  for (size_t i = 0; i < from.arguments.size(); ++i) {
    const uint32_t type = from.arguments[i].type;
    std::vector<TensorType> leaves;
    types_.add_leaves(type, from.offset, leaves);
    std::vector<ValueId> values;
    for (TensorType& leaf : leaves) {
      values.push_back(fn_->add_block_argument(block, std::move(leaf)));
    }
    const ValueId* next = values.data();
    define(from.first_argument + static_cast<uint32_t>(i), type, from.offset, next);
  }
  import_operations(from, block);
}

// A name stands for all leaves of a tuple, so that taking tuples apart is only a matter of names. A
// cast leads from a type of VHLO to the same type of MLIR.
bool Importer::import_plumbing(const Operation& op) {
  const std::string& name = name_of(op).text;
  const bool cast = name == "builtin.unrealized_conversion_cast";
  if (cast || name == "stablehlo.tuple") {
    const std::vector<ValueId> leaves = operands_of(op);
    const std::vector<TensorType> types = result_types(op);
    bool equal = leaves.size() == types.size();
    for (size_t i = 0; equal && i < leaves.size(); ++i) equal = fn_->type(leaves[i]) == types[i];
    if (!equal) origin_.fail(op.offset, fmt::format("{} changes a type", name));
    define_results(op, leaves);
    return true;
  }
  if (name != "stablehlo.get_tuple_element") return false;
  const Dict attributes = attributes_of(op);
  const int64_t index = reader(attributes, name, op.offset).integer("index");
  if (op.operands.size() != 1) origin_.fail(op.offset, fmt::format("{} has one operand", name));
  const std::vector<ValueId> leaves = operands_of(op);
  const Type tuple = types_.at(values_[op.operands[0]].type);
  if (tuple.kind != Type::Kind::kTuple || index < 0 ||
      index >= static_cast<int64_t>(tuple.parts.size())) {
    origin_.fail(op.offset,
                 fmt::format("takes element {} of a tuple of {}", index, tuple.parts.size()));
  }
  std::vector<TensorType> before;
  for (int64_t i = 0; i < index; ++i) {
    types_.add_leaves(tuple.parts[static_cast<size_t>(i)], op.offset, before);
  }
  const std::vector<TensorType> types = result_types(op);
  if (before.size() + types.size() > leaves.size()) {
    origin_.fail(op.offset, "an element of a tuple has another type than the tuple says");
  }
  const auto first = leaves.begin() + static_cast<ptrdiff_t>(before.size());
  define_results(op, {first, first + static_cast<ptrdiff_t>(types.size())});
  return true;
}

// ---- attributes

text::Dict Importer::attributes_of(const Operation& op) {
  Dict attributes;
  if (op.properties) read_properties(op, attributes);
  if (op.attributes) {
    const Dict& others = attributes_.dictionary(*op.attributes, op.offset);
    attributes.insert(attributes.end(), others.begin(), others.end());
  }
  for (text::NamedAttribute& entry : attributes) entry.value.position = op.offset;
  to_stablehlo(name_of(op).text, attributes);
  return attributes;
}

void Importer::read_properties(const Operation& op, Dict& attributes) {
  if (!container_.op_names[op.name].registered) {
    attributes = attributes_.dictionary(*op.properties, op.offset);
    return;
  }
  const auto& names = name_of(op).properties;
  if (!names) return;  // nobody asks for what it has
  Cursor cursor(origin_, container_.properties[*op.properties]);
  for (std::string_view name : *names) {
    uint32_t index = 0;
    if (name.ends_with('?')) {
      name.remove_suffix(1);
      const auto [number, present] = cursor.flagged_varint();
      if (!present) continue;
      if (number >= container_.attributes.size()) cursor.fail("an attribute is missing");
      index = static_cast<uint32_t>(number);
    } else {
      index = cursor.index(container_.attributes.size(), "the number of an attribute");
    }
    attributes.push_back({std::string(name), attributes_.at(index)});
  }
  cursor.expect_end(fmt::format("the attributes of {}", name_of(op).text));
}

// ---- values

std::vector<TensorType> Importer::result_types(const Operation& op) {
  std::vector<TensorType> types;
  for (const uint32_t type : op.result_types) types_.add_leaves(type, op.offset, types);
  return types;
}

std::vector<ValueId> Importer::operands_of(const Operation& op) {
  std::vector<ValueId> operands;
  for (const uint32_t value : op.operands) add_operand(op, value, operands);
  return operands;
}

void Importer::add_operand(const Operation& op, uint32_t value, std::vector<ValueId>& operands) {
  const Leaves& leaves = values_[value];
  if (leaves.count == UINT32_MAX) {
    origin_.fail(op.offset, fmt::format("{} uses a value before it is defined", name_of(op).text));
  }
  const auto first = leaves_.begin() + leaves.first;
  operands.insert(operands.end(), first, first + leaves.count);
}

void Importer::define(uint32_t value, uint32_t type, size_t user, const ValueId*& next) {
  std::vector<TensorType> types;
  types_.add_leaves(type, user, types);
  Leaves& leaves = values_[value];
  leaves = {static_cast<uint32_t>(leaves_.size()), static_cast<uint32_t>(types.size()), type};
  leaves_.insert(leaves_.end(), next, next + leaves.count);
  next += leaves.count;
}

void Importer::define_results(const Operation& op, const std::vector<ValueId>& values) {
  const ValueId* next = values.data();
  if (values.empty() && op.result_types.empty()) return;
  if (result_types(op).size() != values.size()) {
    origin_.fail(op.offset, fmt::format("{} has {} results here, {} in the file", name_of(op).text,
                                        values.size(), op.result_types.size()));
  }
  for (size_t i = 0; i < op.result_types.size(); ++i) {
    define(op.first_result + static_cast<uint32_t>(i), op.result_types[i], op.offset, next);
  }
}

}  // namespace spmd::vhlo
