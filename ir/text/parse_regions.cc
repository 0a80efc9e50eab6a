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

// Whether `applies <op>` says all of a reducer.
bool is_short_reducer(OpCode code) {
  static constexpr bool kHasNoAttributes[] = {
#define SPMD_OP(enumerator, spelling, family, attrs) std::is_same_v<attrs, NoAttrs>,
#include "ir/ops.def"
#undef SPMD_OP
  };
  return family_of(code) == OpFamily::kElementwise && kHasNoAttributes[static_cast<size_t>(code)];
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
    if (!is_short_reducer(*reducer)) {
      scan_.fail(start, "the short form of reduce is for elementwise ops without attributes");
    }
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
  op.shapes = signature.shapes;
  create(op, block, result_types(op, signature));
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
