#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {

using Kind = Attribute::Kind;

namespace {

// Keywords of pretty forms and the attributes of the generic form that they stand for.
struct Keyword {
  OpCode code;
  std::string_view keyword, attribute;
};

constexpr Keyword kKeywords[] = {
    {OpCode::kBroadcastInDim, "dims", "broadcast_dimensions"},
    {OpCode::kTranspose, "dims", "permutation"},
    {OpCode::kReverse, "dims", "dimensions"},
    {OpCode::kIota, "dim", "iota_dimension"},
    {OpCode::kConcatenate, "dim", "dimension"},
    {OpCode::kPad, "low", "edge_padding_low"},
    {OpCode::kPad, "high", "edge_padding_high"},
    {OpCode::kPad, "interior", "interior_padding"},
    {OpCode::kDynamicSlice, "sizes", "slice_sizes"},
    {OpCode::kReducePrecision, "format", "format"},
    {OpCode::kRngBitGenerator, "algorithm", "rng_algorithm"},
    {OpCode::kBroadcast, "sizes", "broadcast_sizes"},
    {OpCode::kCholesky, "lower", "lower"},
    {OpCode::kCheckAlmostEq, "tolerance", "tolerance"},
    {OpCode::kCheckClose, "max_ulp_difference", "max_ulp_difference"},
    {OpCode::kCheckClose, "min_ulp_difference", "min_ulp_difference"},
    {OpCode::kDynamicBroadcastInDim, "dims", "broadcast_dimensions"},
    {OpCode::kDynamicIota, "dim", "iota_dimension"},
    {OpCode::kDot, "precision", "precision_config"},
    {OpCode::kEinsum, "config", "einsum_config"},
    {OpCode::kFft, "type", "fft_type"},
    {OpCode::kFft, "length", "fft_length"},
    {OpCode::kGetDimensionSize, "dim", "dimension"},
    {OpCode::kRng, "distribution", "rng_distribution"},
    {OpCode::kSetDimensionSize, "dim", "dimension"},
    {OpCode::kUnaryEinsum, "config", "einsum_config"},
    {OpCode::kDotGeneral, "batching_dims", "batching_dimensions"},
    {OpCode::kDotGeneral, "contracting_dims", "contracting_dimensions"},
    {OpCode::kDotGeneral, "precision", "precision_config"},
    {OpCode::kDotGeneral, "algorithm", "algorithm"},
};

NamedAttribute& add_named(Dict& dict, std::string_view name) {
  dict.push_back({std::string(name), {}});
  return dict.back();
}

void add_integers(Dict& dict, std::string_view name, std::vector<int64_t> values, size_t position) {
  Attribute& value = add_named(dict, name).value;
  value.kind = Kind::kIntegers;
  value.integers = std::move(values);
  value.position = position;
}

}  // namespace

void Parser::parse_pretty(OpText& op, BlockId block) {
  switch (op.code) {
    case OpCode::kCompare:
      return parse_compare(op, block);
    case OpCode::kConstant:
      return parse_constant(op, block);
    case OpCode::kSlice:
      return parse_slice(op, block);
    case OpCode::kConvolution:
    case OpCode::kDynamicConv:
      return parse_convolution(op, block);
    case OpCode::kCheckAlmostEqConst:
    case OpCode::kCheckCloseConst:
    case OpCode::kCheckEqConst:
      return parse_check_const(op, block);
    case OpCode::kPropagationBarrier:
      return parse_sdy_keyword(op, block, "allowed_direction");
    case OpCode::kShardingGroup:
      return parse_sdy_keyword(op, block, "group_id");
    case OpCode::kTopK:
      return parse_top_k(op, block);
    case OpCode::kReturn:
      return parse_return(op, block);
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return parse_placed(op, block);
    case OpCode::kAxisIndex:
      return parse_axis_index(op, block);
    case OpCode::kReduce:
      return parse_reduce(op, block);
    case OpCode::kWhile:
      return parse_while(op, block);
    case OpCode::kManualComputation:
      return parse_manual_computation(op, block);
    case OpCode::kCustomCall:
      return parse_custom_call(op, block);
    case OpCode::kCall:
      return op.spelling == "stablehlo.composite" ? parse_composite(op, block)
                                                  : parse_call(op, block);
    default:
      return parse_simple(op, block);
  }
}

// `%a, %b, key = value, ... {dict} : types`, also with the operands in parentheses.
void Parser::parse_simple(OpText& op, BlockId block) {
  if (scan_.accept("(")) {
    op.operands = parse_values(")");
  } else {
    do {
      if (scan_.peek() == '%') {
        parse_operand(op.operands);
      } else if (!scan_.peek(":") && !scan_.peek("{")) {
        parse_keyword(op);
      }
    } while (scan_.accept(","));
  }
  finish_simple(op, block);
}

void Parser::finish_simple(OpText& op, BlockId block) {
  accept_dict(op);
  const Signature signature = parse_signature();
  op.shapes = signature.shapes;
  create(op, block, result_types(op, signature));
}

void Parser::parse_keyword(OpText& op) {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const auto word = scan_.accept_word();
  std::string_view attribute;
  std::string known;
  for (const Keyword& row : kKeywords) {
    if (row.code != op.code) continue;
    if (word && row.keyword == *word) attribute = row.attribute;
    known += (known.empty() ? "" : ", ") + std::string(row.keyword);
  }
  if (attribute.empty()) {
    scan_.seek(start);
    scan_.fail_expected(known.empty() ? "an operand or ':'"
                                      : "an operand, ':' or one of: " + known);
  }
  scan_.expect("=");
  if (attribute == "batching_dimensions" || attribute == "contracting_dimensions") {
    return parse_dot_dimensions(op, attribute);
  }
  if (attribute == "algorithm" && scan_.peek("<")) {
    scan_.expect("<");
    Attribute& value = add_named(op.attributes, "algorithm").value;
    value.position = start;
    value.kind = Kind::kDict;
    return parse_dict_entries(value.entries, ">");
  }
  Attribute& value = add_named(op.attributes, attribute).value;
  // A colon after a number or string begins the types of the op, not the value's own.
  scan_.skip_blanks();
  value.position = scan_.position();
  const char next = scan_.peek();
  if (next == '-' || (next >= '0' && next <= '9')) {
    value = number_attribute(scan_.expect_number(), value.position);
    return;
  }
  if (next == '"') {
    value.kind = Kind::kString;
    value.string = scan_.expect_string();
    return;
  }
  value = parse_attribute();
}

// `[0] x [0]` goes into the dictionary that the generic form has for dot dimensions.
void Parser::parse_dot_dimensions(OpText& op, std::string_view name) {
  constexpr std::string_view kDict = "dot_dimension_numbers";
  Attribute* numbers = nullptr;
  for (NamedAttribute& entry : op.attributes) {
    if (entry.name == kDict) numbers = &entry.value;
  }
  if (numbers == nullptr) {
    numbers = &add_named(op.attributes, kDict).value;
    numbers->kind = Kind::kDict;
    numbers->position = scan_.position();
  }
  add_named(numbers->entries, "lhs_" + std::string(name)).value = parse_attribute();
  scan_.expect("x");
  add_named(numbers->entries, "rhs_" + std::string(name)).value = parse_attribute();
}

// `LT, %a, %b, SIGNED : types`
void Parser::parse_compare(OpText& op, BlockId block) {
  add_named(op.attributes, "comparison_direction").value = parse_attribute();
  scan_.expect(",");
  op.operands.push_back(parse_value());
  scan_.expect(",");
  op.operands.push_back(parse_value());
  if (scan_.accept(",")) add_named(op.attributes, "compare_type").value = parse_attribute();
  finish_simple(op, block);
}

// `{dict} dense<...> : T`, or `() <{value = dense<...> : T}> : () -> T`
void Parser::parse_constant(OpText& op, BlockId block) {
  if (scan_.accept("(")) {
    scan_.expect(")");
    scan_.expect("<");
    parse_dict(op.attributes);
    scan_.expect(">");
    return finish_simple(op, block);
  }
  accept_dict(op);
  scan_.skip_blanks();
  const size_t start = scan_.position();
  Attribute value = parse_attribute();
  if (value.kind != Kind::kLiteral) {
    scan_.seek(start);
    scan_.fail_expected("dense<...>");
  }
  std::vector<TensorType> types = {value.literal.type()};
  add_named(op.attributes, "value").value = std::move(value);
  create(op, block, std::move(types));
}

// `%x [1:3, 4:8:2] : types`
void Parser::parse_slice(OpText& op, BlockId block) {
  op.operands.push_back(parse_value());
  const size_t start = scan_.position();
  std::vector<int64_t> starts, limits, strides;
  scan_.expect("[");
  while (!scan_.peek("]")) {
    starts.push_back(scan_.expect_integer());
    scan_.expect(":");
    limits.push_back(scan_.expect_integer());
    strides.push_back(scan_.accept(":") ? scan_.expect_integer() : 1);
    if (!scan_.accept(",")) break;
  }
  scan_.expect("]");
  add_integers(op.attributes, "start_indices", std::move(starts), start);
  add_integers(op.attributes, "limit_indices", std::move(limits), start);
  add_integers(op.attributes, "strides", std::move(strides), start);
  finish_simple(op, block);
}

// `(%x, %w) dim_numbers = [...]x[...]->[...], window = {...} {dict} : types`
void Parser::parse_convolution(OpText& op, BlockId block) {
  scan_.expect("(");
  op.operands = parse_values(")");
  scan_.expect_word("dim_numbers");
  scan_.expect("=");
  Attribute numbers;
  numbers.position = scan_.position();
  add_named(op.attributes, "dimension_numbers").value = parse_conv_dimensions(std::move(numbers));
  scan_.expect(",");
  scan_.expect_word("window");
  scan_.expect("=");
  parse_window(op);
  finish_simple(op, block);
}

void Parser::parse_window(OpText& op) {
  static constexpr std::pair<std::string_view, std::string_view> kParts[] = {
      {"stride", "window_strides"},
      {"pad", "padding"},
      {"lhs_dilate", "lhs_dilation"},
      {"rhs_dilate", "rhs_dilation"},
      {"reverse", "window_reversal"}};
  scan_.expect("{");
  while (!scan_.peek("}")) {
    std::string_view attribute;
    for (const auto& [word, name] : kParts) {
      if (attribute.empty() && scan_.accept_word(word)) attribute = name;
    }
    if (attribute.empty()) scan_.fail_expected("stride, pad, lhs_dilate, rhs_dilate or reverse");
    scan_.expect("=");
    add_named(op.attributes, attribute).value = parse_attribute();
    if (!scan_.accept(",")) break;
  }
  scan_.expect("}");
}

// `(%x, k = 2) : T -> (T, U)`
void Parser::parse_top_k(OpText& op, BlockId block) {
  scan_.expect("(");
  op.operands.push_back(parse_value());
  scan_.expect(",");
  scan_.expect_word("k");
  scan_.expect("=");
  add_named(op.attributes, "k").value = parse_attribute();
  scan_.expect(")");
  finish_simple(op, block);
}

// `{dict} %a, %b : T, U`
void Parser::parse_return(OpText& op, BlockId block) {
  accept_dict(op);
  if (scan_.peek() != '%') {
    create(op, block, {});
    return;
  }
  do parse_operand(op.operands);
  while (scan_.accept(","));
  accept_dict(op);
  const Signature signature = parse_signature();
  check_operands(op, signature);
  create(op, block, {});
}

// `%x <@mesh, [{"a"}, {}]> : T`
void Parser::parse_placed(OpText& op, BlockId block) {
  op.operands.push_back(parse_value());
  Attribute& sharding = add_named(op.attributes, "sharding").value;
  sharding.kind = Kind::kShardings;
  scan_.skip_blanks();
  sharding.position = scan_.position();
  sharding.shardings.push_back(scan_sharding(scan_, mesh_lookup()));
  finish_simple(op, block);
}

// `%x allowed_direction=FORWARD : T`, `%x group_id=1 : T`
void Parser::parse_sdy_keyword(OpText& op, BlockId block, std::string_view keyword) {
  op.operands.push_back(parse_value());
  scan_.expect_word(keyword);
  scan_.expect("=");
  scan_.skip_blanks();
  Attribute& value = add_named(op.attributes, keyword).value;
  value.position = scan_.position();
  if (const auto number = scan_.accept_integer()) {
    value.kind = Kind::kInteger;
    value.integer = *number;
  } else {
    value = parse_attribute();
  }
  finish_simple(op, block);
}

// `%x, dense<...> : T {dict}`, and for inexact ones `, tolerance = 0.1` and the like.
void Parser::parse_check_const(OpText& op, BlockId block) {
  op.operands.push_back(parse_value());
  scan_.expect(",");
  scan_.skip_blanks();
  const size_t start = scan_.position();
  Attribute value = parse_attribute();
  if (value.kind != Kind::kLiteral) {
    scan_.seek(start);
    scan_.fail_expected("dense<...>");
  }
  add_named(op.attributes, "value").value = std::move(value);
  while (scan_.accept(",")) {
    const std::string name(take_word("an attribute's name"));
    scan_.expect("=");
    add_named(op.attributes, name).value = parse_attribute();
  }
  accept_dict(op);
  create(op, block, {});
}

// `{"x", "y"} : tensor<i32>`
void Parser::parse_axis_index(OpText& op, BlockId block) {
  const size_t start = scan_.position();
  Attribute axes;
  axes.kind = Kind::kShardings;  // axes travel as a sharding's manual axes
  axes.position = start;
  axes.shardings.emplace_back();
  axes.shardings.back().mesh = module_.mesh;
  axes.shardings.back().sharding.manual = scan_axes(scan_, module_.mesh);
  add_named(op.attributes, "axes").value = std::move(axes);
  finish_simple(op, block);
}

}  // namespace spmd::text
