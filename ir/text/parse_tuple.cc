// Tuples, which the IR does not have: a name stands for all of a tuple's leaves.
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

// `tensor<...>`, or `tuple<T, ...>`.
TupleShape Parser::parse_leaves(std::vector<TensorType>& leaves) {
  const DepthGuard guard(depth_, scan_);
  TupleShape shape;
  if (!scan_.accept_word("tuple")) {
    leaves.push_back(parse_type());
    return shape;
  }
  shape.is_tuple = true;
  shape.leaves = 0;
  scan_.expect("<");
  while (!scan_.peek(">")) {
    shape.parts.push_back(parse_leaves(leaves));
    shape.leaves += shape.parts.back().leaves;
    if (!scan_.accept(",")) break;
  }
  scan_.expect(">");
  return shape;
}

// `%name`
const Parser::Definition& Parser::parse_name() {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  scan_.expect("%");
  const std::string_view name = scan_.expect_suffix("the name of a value");
  return definition_of(name, start);
}

void Parser::parse_operand(std::vector<ValueId>& operands) {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const Definition definition = parse_name();
  if (definition.shape >= 0) {
    for (uint32_t i = 0; i < definition.count; ++i) {
      operands.push_back(pool_[definition.first + i]);
    }
    return;
  }
  scan_.seek(start);
  operands.push_back(parse_value());
}

std::vector<ValueId> Parser::parse_block_argument(BlockId block) {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  scan_.expect("%");
  const std::string_view name = scan_.expect_suffix("the name of an argument");
  scan_.expect(":");
  std::vector<TensorType> leaves;
  const TupleShape shape = parse_leaves(leaves);
  std::vector<ValueId> values;
  for (TensorType& type : leaves) values.push_back(fn_->add_block_argument(block, std::move(type)));
  define(name, values, start, shape.is_tuple ? &shape : nullptr);
  return values;
}

bool Parser::accept_tuple_op(OpText& op, bool generic) {
  if (op.spelling == "stablehlo.tuple") {
    parse_tuple(op, generic);
  } else if (op.spelling == "stablehlo.get_tuple_element") {
    parse_tuple_element(op, generic);
  } else {
    return false;
  }
  if (scan_.accept_word("loc")) parse_location();
  return true;
}

// `%a, %b : tuple<T, U>` or `(%a, %b) : (T, U) -> tuple<T, U>`
void Parser::parse_tuple(OpText& op, bool generic) {
  TupleShape shape;
  shape.is_tuple = true;
  const bool parenthesised = scan_.accept("(");  // always in the generic form
  while (scan_.peek() == '%') {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    const Definition part = parse_name();
    shape.parts.push_back(part.shape >= 0 ? shapes_[static_cast<size_t>(part.shape)]
                                          : TupleShape());
    scan_.seek(start);
    parse_operand(op.operands);
    if (!scan_.accept(",")) break;
  }
  if (parenthesised || generic) scan_.expect(")");
  accept_dict(op);
  const Signature signature = parse_signature();
  shape.leaves = static_cast<uint32_t>(op.operands.size());
  if (signature.results.size() != op.operands.size()) {
    scan_.fail(signature.position, fmt::format("a tuple of {} tensors has {} types",
                                               op.operands.size(), signature.results.size()));
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (fn_->type(op.operands[i]) == signature.results[i]) continue;
    scan_.fail(signature.position,
               fmt::format("a part of a tuple has type {}, here it is {}",
                           to_string(fn_->type(op.operands[i])), to_string(signature.results[i])));
  }
  if (op.names.size() == 1) define(op.names[0].name, op.operands, op.names[0].position, &shape);
}

// `%t[1] : (tuple<T, U>) -> U` or `(%t) <{index = 1 : i32}> : (tuple<T, U>) -> U`
void Parser::parse_tuple_element(OpText& op, bool generic) {
  if (generic) scan_.expect("(");
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const Definition tuple = parse_name();
  int64_t index = 0;
  if (generic) {
    scan_.expect(")");
    if (scan_.accept("<")) {
      parse_dict(op.attributes);
      scan_.expect(">");
    }
    accept_dict(op);
    index = reader(op.attributes, op.spelling, op.position).integer("index");
  } else {
    scan_.expect("[");
    index = scan_.expect_integer("the number of an element");
    scan_.expect("]");
    accept_dict(op);
  }
  parse_signature();
  const TupleShape* shape = tuple.shape < 0 ? nullptr : &shapes_[static_cast<size_t>(tuple.shape)];
  if (shape == nullptr || index < 0 || index >= static_cast<int64_t>(shape->parts.size())) {
    scan_.fail(start, shape == nullptr ? std::string("this value is no tuple")
                                       : fmt::format("takes element {} of a tuple of {}", index,
                                                     shape->parts.size()));
  }
  uint32_t first = tuple.first;
  for (int64_t i = 0; i < index; ++i) first += shape->parts[static_cast<size_t>(i)].leaves;
  const TupleShape& part = shape->parts[static_cast<size_t>(index)];
  const std::vector<ValueId> leaves(pool_.begin() + first, pool_.begin() + first + part.leaves);
  if (op.names.size() == 1) {
    define(op.names[0].name, leaves, op.names[0].position, part.is_tuple ? &part : nullptr);
  }
}

}  // namespace spmd::text
