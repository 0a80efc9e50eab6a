#include <charconv>

#include "ir/builder.h"
#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

namespace {

Attribute& add(Dict& dict, std::string_view name) {
  dict.push_back({std::string(name), {}});
  return dict.back().value;
}

}  // namespace

// `(%x init: %i), (%y init: %j) applies stablehlo.add across dimensions = [1] : (...) -> T`, or
// without `applies` and with `reducer(%a: T, %b: T) (%c: U, %d: U) { ... }` after the types.
void Parser::parse_reduce(OpText& op, BlockId block) {
  std::vector<ValueId> inits;
  do {
    scan_.expect("(");
    op.operands.push_back(parse_value());
    scan_.expect_word("init");
    scan_.expect(":");
    inits.push_back(parse_value());
    scan_.expect(")");
  } while (scan_.accept(","));
  const size_t operands = op.operands.size();
  op.operands.insert(op.operands.end(), inits.begin(), inits.end());
  std::optional<OpCode> reducer;
  scan_.skip_blanks();
  const size_t applies = scan_.position();
  if (scan_.accept_word("applies")) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    reducer = lookup(take_word("an operation"), start);
  }
  scan_.expect_word("across");
  scan_.expect_word("dimensions");
  scan_.expect("=");
  add(op.attributes, "dimensions") = parse_attribute();
  accept_dict(op);
  const Signature signature = parse_signature();
  std::vector<TensorType> results = result_types(op, signature);
  const OpId id = create_open(op, block);
  if (reducer) {
    if (operands != 1 || results.size() != 1) {
      scan_.fail(applies, "the short form of reduce is for one operand");
    }
    add_reducer_region(*fn_, id, *reducer, results[0].dtype);
  } else {
    parse_reducer(id, operands);
  }
  finish(op, id, std::move(results));
  if (!reducer) return;
  for_each_op(*fn_, fn_->op(id).regions[0],
              [&](OpId inner) { fn_->op(inner).location = fn_->op(id).location; });
}

// Each pair of parentheses holds the two arguments of one operand; the region has all first ones,
// then all second ones.
void Parser::parse_reducer(OpId id, size_t operands) {
  scan_.expect_word("reducer");
  struct Argument {
    std::string_view name;
    size_t position;
    TensorType type;
  };
  std::vector<Argument> firsts, seconds;
  const auto argument = [&] {
    scan_.skip_blanks();
    Argument read;
    read.position = scan_.position();
    scan_.expect("%");
    read.name = scan_.expect_suffix("the name of an argument");
    scan_.expect(":");
    read.type = parse_type();
    if (scan_.accept_word("loc")) parse_location();
    return read;
  };
  for (size_t i = 0; i < operands; ++i) {
    scan_.expect("(");
    firsts.push_back(argument());
    scan_.expect(",");
    seconds.push_back(argument());
    scan_.expect(")");
  }
  const size_t mark = open_scope();
  const BlockId region = fn_->add_region(id);
  for (const auto* list : {&firsts, &seconds}) {
    for (const Argument& read : *list) {
      define(read.name, {fn_->add_block_argument(region, read.type)}, read.position);
    }
  }
  scan_.skip_blanks();
  const size_t open = scan_.position();
  scan_.expect("{");
  parse_block(region, open);
  close_scope(mark);
}

// `(%a = %x, %b = %y) : T, U attributes {...} cond { ... } do { ... }`
void Parser::parse_while(OpText& op, BlockId block) {
  std::vector<std::pair<std::string_view, size_t>> names;
  scan_.expect("(");
  while (!scan_.peek(")")) {
    scan_.skip_blanks();
    const size_t start = scan_.position();
    scan_.expect("%");
    names.emplace_back(scan_.expect_suffix("the name of a loop value"), start);
    scan_.expect("=");
    op.operands.push_back(parse_value());
    if (!scan_.accept(",")) break;
  }
  scan_.expect(")");
  std::vector<TensorType> types;
  if (!op.operands.empty()) types = result_types(op, parse_signature());
  if (scan_.accept_word("attributes")) parse_dict(op.attributes);
  const OpId id = create_open(op, block);
  for (const std::string_view keyword : {"cond", "do"}) {
    scan_.expect_word(keyword);
    const size_t mark = open_scope();
    const BlockId region = fn_->add_region(id);
    for (size_t i = 0; i < names.size(); ++i) {
      define(names[i].first, {fn_->add_block_argument(region, types[i])}, names[i].second);
    }
    scan_.skip_blanks();
    const size_t open = scan_.position();
    scan_.expect("{");
    parse_block(region, open);
    close_scope(mark);
  }
  finish(op, id, std::move(types));
}

// `(%x) in_shardings=[...] out_shardings=[...] manual_axes={"a"} (%arg: T) { ... } : (T) -> U`
void Parser::parse_manual_computation(OpText& op, BlockId block) {
  scan_.expect("(");
  op.operands = parse_values(")");
  for (const std::string_view key : {"in_shardings", "out_shardings"}) {
    scan_.expect_word(key);
    scan_.expect("=");
    Attribute& shardings = add(op.attributes, key);
    shardings.kind = Kind::kShardings;
    scan_.skip_blanks();
    shardings.position = scan_.position();
    shardings.shardings = scan_shardings(scan_, mesh_lookup());
  }
  scan_.expect_word("manual_axes");
  scan_.expect("=");
  scan_.skip_blanks();
  Attribute& axes = add(op.attributes, "manual_axes");
  axes.kind = Kind::kShardings;  // axes travel as a sharding's manual axes
  axes.position = scan_.position();
  axes.shardings.emplace_back();
  axes.shardings.back().mesh = manual_mesh(op.attributes);
  axes.shardings.back().sharding.manual = scan_axes(scan_, axes.shardings.back().mesh);
  const OpId id = create_open(op, block);
  const size_t mark = open_scope();
  const BlockId region = fn_->add_region(id);
  scan_.expect("(");
  parse_block_arguments(region, ")");
  scan_.skip_blanks();
  const size_t open = scan_.position();
  scan_.expect("{");
  parse_block(region, open);
  close_scope(mark);
  accept_dict(op);
  const Signature signature = parse_signature();
  std::vector<TensorType> results = result_types(op, signature);
  finish(op, id, std::move(results));
}

// `@target(%x) {dict} : (T) -> U`
void Parser::parse_custom_call(OpText& op, BlockId block) {
  scan_.skip_blanks();
  Attribute& target = add(op.attributes, "call_target_name");
  target.kind = Kind::kString;
  target.position = scan_.position();
  scan_.expect("@");
  target.string = parse_symbol();
  scan_.expect("(");
  op.operands = parse_values(")");
  accept_dict(op);
  const Signature signature = parse_signature();
  const std::vector<TensorType> results = result_types(op, signature);
  const OpId id = create_open(op, block);
  if (!finish_special_call(op, id, results)) finish(op, id, results);
}

namespace {

// Checks as jax's test data writes them.
std::optional<OpCode> check_named(std::string_view target) {
  for (OpCode code : {OpCode::kCheckAlmostEq, OpCode::kCheckClose, OpCode::kCheckEq}) {
    if (name_of(code) == target) return code;
  }
  return std::nullopt;
}

}  // namespace

bool Parser::finish_special_call(OpText& op, OpId id, const std::vector<TensorType>& results) {
  const std::string target =
      reader(op.attributes, op.spelling, op.position).string_or("call_target_name", "");
  if (target == "xla.sdy.ShardingGroup" || target == "xla.sdy.PropagationBarrier") {
    return finish_sdy_call(op, id, target, results);
  }
  if (const auto check = check_named(target)) {
    op.code = *check;
    fn_->op(id).code = op.code;
    finish(op, id, {});
    return true;
  }
  if (op.operands.size() != 1 || results.size() != 1) return false;
  // The place of a value in memory is not ours to keep.
  if (target == "annotate_device_placement") {
    if (op.names.size() == 1) define(op.names[0].name, {op.operands[0]}, op.names[0].position);
    fn_->erase_op(id);
    if (scan_.accept_word("loc")) parse_location();
    return true;
  }
  if (target == "Sharding") {
    op.code = OpCode::kShardingConstraint;
  } else if (target == "mhlo.erf") {
    op.code = OpCode::kErf;
  } else {
    return false;
  }
  fn_->op(id).code = op.code;
  finish(op, id, results);
  return true;
}

// The ops of sdy that its export to custom calls writes, with numbers like "21 : i64" as strings.
bool Parser::finish_sdy_call(OpText& op, OpId id, const std::string& target,
                             const std::vector<TensorType>& results) {
  const AttributeReader outer = reader(op.attributes, op.spelling, op.position);
  const AttributeReader from = outer.dict(outer.get("mhlo.frontend_attributes"));
  const bool is_group = target == "xla.sdy.ShardingGroup";
  const char* key = is_group ? "xla.sdy.sharding_group_id" : "xla.sdy.allowed_direction";
  const std::string text = from.string_or(key, "");
  int64_t number = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc()) {
    from.fail(from.get(key), key, "a number");
  }
  op.attributes.clear();
  Attribute& value = add(op.attributes, is_group ? "group_id" : "allowed_direction");
  value.kind = Kind::kInteger;
  value.integer = number;
  value.position = op.position;
  op.code = is_group ? OpCode::kShardingGroup : OpCode::kPropagationBarrier;
  fn_->op(id).code = op.code;
  if (is_group) op.names.clear();  // of an empty tuple
  finish(op, id, is_group ? std::vector<TensorType>() : results);
  return true;
}

// `@f(%x) {dict} : (T) -> U`
void Parser::parse_call(OpText& op, BlockId block) {
  scan_.skip_blanks();
  Attribute& callee = add(op.attributes, "callee");
  callee.kind = Kind::kSymbol;
  callee.position = scan_.position();
  scan_.expect("@");
  callee.string = parse_symbol();
  scan_.expect("(");
  op.operands = parse_values(")");
  finish_simple(op, block);
}

// `"name" %x {composite_attributes = ..., decomposition = @f} : (T) -> U`: a call of what it
// decomposes into.
void Parser::parse_composite(OpText& op, BlockId block) {
  scan_.expect_string("the name of the composite");
  if (scan_.accept("(")) {
    op.operands = parse_values(")");
  } else if (scan_.peek() == '%') {
    do op.operands.push_back(parse_value());
    while (scan_.accept(","));
  }
  finish_simple(op, block);
}

}  // namespace spmd::text
