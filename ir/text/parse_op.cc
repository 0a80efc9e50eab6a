#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

void Parser::parse_block(BlockId block, size_t open) {
  const DepthGuard guard(depth_, scan_);
  while (!scan_.accept("}")) {
    if (scan_.at_end()) {
      scan_.fail_expected(
          fmt::format("'}}' for the '{{' at line {}", scan_.line_column(open).line));
    }
    parse_op(block);
  }
}

void Parser::parse_op(BlockId block) {
  OpText op;
  scan_.skip_blanks();
  op.position = scan_.position();
  if (scan_.peek() == '%') parse_result_names(op);
  if (scan_.peek_string()) {
    parse_generic(op, block);
  } else {
    const size_t start = scan_.position();
    op.spelling = take_word("an operation");
    if (accept_tuple_op(op, false)) return;
    op.code = lookup(op.spelling, start);
    parse_pretty(op, block);
  }
}

void Parser::parse_result_names(OpText& op) {
  do {
    ResultName result;
    scan_.skip_blanks();
    result.position = scan_.position();
    scan_.expect("%");
    result.name = scan_.expect_suffix("the name of a value");
    if (scan_.accept(":")) {
      result.count = scan_.expect_integer("the number of results");
      if (result.count < 1 || result.count > 1'000'000) {
        scan_.fail(result.position, fmt::format("{} results", result.count));
      }
    }
    op.names.push_back(result);
  } while (scan_.accept(","));
  scan_.expect("=");
}

OpCode Parser::lookup(std::string_view spelling, size_t position) {
  if (const auto code = code_of(spelling)) return *code;
  if (spelling.find('.') == std::string_view::npos) {
    scan_.seek(position);
    scan_.fail_expected("an operation");
  }
  throw_unsupported(spelling, position);
}

void Parser::throw_unsupported(std::string_view spelling, size_t position) {
  throw_unsupported_ops(text_, source_);
  throw UserError(scan_.place(position),
                  fmt::format("the operation {} is not supported", spelling));
}

// ---- values

void Parser::define(std::string_view name, const std::vector<ValueId>& values, size_t position,
                    const TupleShape* shape) {
  if (find_name(name) != nullptr) scan_.fail(position, fmt::format("%{} is defined twice", name));
  Definition definition{name, static_cast<uint32_t>(pool_.size()),
                        static_cast<uint32_t>(values.size())};
  if (shape != nullptr) {
    definition.shape = static_cast<int>(shapes_.size());
    shapes_.push_back(*shape);
  }
  values_.push(std::hash<std::string_view>{}(name), definition);
  pool_.insert(pool_.end(), values.begin(), values.end());
}

const Parser::Definition* Parser::find_name(std::string_view name) const {
  return values_.find(std::hash<std::string_view>{}(name),
                      [&](const Definition& definition) { return definition.name == name; });
}

const Parser::Definition& Parser::definition_of(std::string_view name, size_t start) {
  const Definition* found = find_name(name);
  if (found == nullptr) scan_.fail(start, fmt::format("%{} is used before it is defined", name));
  return *found;
}

ValueId Parser::parse_value() {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  scan_.expect("%");
  const std::string_view name = scan_.expect_suffix("the name of a value");
  const Definition& definition = definition_of(name, start);
  if (definition.shape >= 0) {
    scan_.fail(start, fmt::format("%{} is a tuple, expected a tensor", name));
  }
  uint32_t index = 0;
  if (scan_.accept("#")) {
    const int64_t number = scan_.expect_integer("the number of a result");
    if (number < 0 || number >= definition.count) {
      scan_.fail(start, fmt::format("%{} has {} results, not one numbered {}", name,
                                    definition.count, number));
    }
    index = static_cast<uint32_t>(number);
  }
  return pool_[definition.first + index];
}

std::vector<ValueId> Parser::parse_values(std::string_view close) {
  std::vector<ValueId> values;
  while (!scan_.peek(close)) {
    parse_operand(values);
    if (!scan_.accept(",")) break;
  }
  scan_.expect(close);
  return values;
}

// `%a: T, %b: T loc("x")` up to `close`.
void Parser::parse_block_arguments(BlockId block, std::string_view close) {
  while (!scan_.peek(close)) {
    parse_block_argument(block);
    if (scan_.accept_word("loc")) parse_location();
    if (!scan_.accept(",")) break;
  }
  scan_.expect(close);
}

// ---- types

namespace {

// Whose pretty form names the types of the operands, there being no results.
bool has_no_results(OpCode code) {
  switch (code) {
    case OpCode::kCheckAlmostEq:
    case OpCode::kCheckClose:
    case OpCode::kCheckEq:
    case OpCode::kShardingGroup:
      return true;
    default:
      return false;
  }
}

}  // namespace

Signature Parser::parse_signature() {
  Signature signature;
  scan_.expect(":");
  scan_.skip_blanks();
  signature.position = scan_.position();
  signature.results = parse_type_list(&signature.shapes);
  if (scan_.accept("->")) {
    signature.functional = true;
    signature.operands = std::move(signature.results);
    signature.shapes.clear();
    signature.results = parse_type_list(&signature.shapes);
  }
  return signature;
}

void Parser::check_operands(const OpText& op, const Signature& signature) {
  const std::vector<TensorType>& types =
      signature.functional ? signature.operands : signature.results;
  const bool each = signature.functional || op.code == OpCode::kOptimizationBarrier ||
                    op.code == OpCode::kWhile || op.code == OpCode::kReturn;
  if (each ? types.size() != op.operands.size() : types.empty()) {
    scan_.fail(signature.position, fmt::format("{} has {} operands, {} types", op.spelling,
                                               op.operands.size(), types.size()));
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    // `select : tensor<i1>, T`; else one type for all operands.
    const size_t last = types.size() - 1;
    TensorType type = types[each ? i : std::min(i, last)];
    // `complex : tensor<complex<T>>`
    if (!signature.functional && op.code == OpCode::kComplex && is_complex(type.dtype)) {
      type.dtype = type.dtype == DType::kC64 ? DType::kF32 : DType::kF64;
    }
    if (fn_->type(op.operands[i]) == type) continue;
    scan_.fail(signature.position,
               fmt::format("{}: operand {} has type {}, here it is {}", op.spelling, i,
                           to_string(fn_->type(op.operands[i])), to_string(type)));
  }
}

std::vector<TensorType> Parser::result_types(const OpText& op, const Signature& signature) {
  check_operands(op, signature);
  if (signature.functional || op.code == OpCode::kOptimizationBarrier ||
      op.code == OpCode::kWhile) {
    return signature.results;
  }
  if (has_no_results(op.code)) return {};
  const size_t expected = op.code == OpCode::kSelect ? 2 : 1;
  if (signature.results.size() > expected) {
    scan_.fail(signature.position, fmt::format("{}: found {} types, expected {}", op.spelling,
                                               signature.results.size(), expected));
  }
  return {signature.results.back()};
}

// ---- creation

OpId Parser::create_open(const OpText& op, BlockId block) {
  return ModuleBuilder::create_open(op, block, text_location(op.position));
}

void Parser::finish(OpText& op, OpId id, std::vector<TensorType> results) {
  define_results(op, complete(op, id, std::move(results)));
  accept_location(id);
}

OpId Parser::create(OpText& op, BlockId block, std::vector<TensorType> results) {
  const OpId id = create_open(op, block);
  finish(op, id, std::move(results));
  return id;
}

// Results that nobody uses need no names.
void Parser::define_results(const OpText& op, const std::vector<ValueId>& results) {
  if (op.names.empty()) return;
  const bool tuple = op.shapes.size() == 1 && op.shapes[0].is_tuple;
  if (tuple && op.names.size() == 1 && op.names[0].count == 1 &&
      op.shapes[0].leaves == results.size()) {
    return define(op.names[0].name, results, op.names[0].position, &op.shapes[0]);
  }
  size_t named = 0;
  for (const ResultName& name : op.names) named += static_cast<size_t>(name.count);
  if (named != results.size()) {
    scan_.fail(op.position,
               fmt::format("{} has {} results, {} are named", op.spelling, results.size(), named));
  }
  auto next = results.begin();
  for (const ResultName& name : op.names) {
    define(name.name, std::vector<ValueId>(next, next + name.count), name.position);
    next += name.count;
  }
}

// ---- generic form

// `"stablehlo.X"(%a) <{properties}> ({regions}) {attributes} : (T) -> U`
void Parser::parse_generic(OpText& op, BlockId block) {
  const size_t start = scan_.position();
  op.spelling = scan_.expect_raw_string();
  if (accept_tuple_op(op, true)) return;
  op.code = lookup(op.spelling, start);
  scan_.expect("(");
  op.operands = parse_values(")");
  if (scan_.accept("<")) {
    parse_dict(op.attributes);
    scan_.expect(">");
  }
  const OpId id = create_open(op, block);
  if (scan_.accept("(")) {
    do parse_region(id);
    while (scan_.accept(","));
    scan_.expect(")");
  }
  accept_dict(op);
  const Signature signature = parse_signature();
  if (!signature.functional) {
    scan_.seek(signature.position);
    scan_.fail_expected("a type (...) -> ...");
  }
  op.shapes = signature.shapes;
  check_operands(op, signature);
  finish(op, id, signature.results);
}

void Parser::parse_region(OpId op) {
  scan_.skip_blanks();
  const size_t open = scan_.position();
  scan_.expect("{");
  const BlockId block = fn_->add_region(op);
  const size_t mark = open_scope();
  if (scan_.accept("^")) {
    scan_.expect_suffix("the name of a block");
    if (scan_.accept("(")) parse_block_arguments(block, ")");
    scan_.expect(":");
  }
  parse_block(block, open);
  close_scope(mark);
}

}  // namespace spmd::text
