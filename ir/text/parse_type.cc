#include <algorithm>

#include "ir/text/parser.h"
#include "support/error.h"

namespace spmd::text {
TensorType Parser::parse_type() {
  scan_.skip_blanks();
  const size_t start = scan_.position();
  const DepthGuard guard(depth_, scan_);
  if (scan_.accept("!stablehlo.token") || scan_.accept("!mhlo.token")) return {DType::kToken, {}};
  if (scan_.accept("!")) {
    const auto alias = aliases_.find(scan_.expect_suffix("a type"));
    if (alias == aliases_.end()) scan_.fail(start, "this type is not supported");
    const size_t after = scan_.position();
    scan_.seek(alias->second);
    TensorType type = parse_type();
    scan_.seek(after);
    return type;
  }
  if (scan_.peek_word("tuple")) {
    scan_.fail(start, "a tuple where a tensor is expected",
               "export with flat arguments and results (jax.jit does so)");
  }
  if (!scan_.accept_word("tensor")) scan_.fail_expected("a tensor type");
  scan_.expect("<");
  TensorType type;
  while (true) {
    const size_t at = scan_.position();
    if (scan_.accept("?")) {
      type.shape.push_back(kDynamic);
    } else if (const auto size = scan_.accept_integer()) {
      if (*size < 0) scan_.fail(at, "a size is negative");
      type.shape.push_back(*size);
    } else {
      break;
    }
    if (type.rank() > kMaxRank) scan_.fail(at, "this tensor has too many dimensions");
    scan_.expect("x");
  }
  const size_t at = scan_.position();
  if (scan_.peek("!quant")) {
    scan_.fail(at, "quantized element types are not supported",
               "export the program before quantization, or with integer arithmetic");
  }
  std::string name(scan_.expect_word_of("an element type"));
  if (name == "complex" && scan_.accept("<")) {
    name += "<" + std::string(scan_.expect_word_of("f32 or f64")) + ">";
    scan_.expect(">");
  }
  const auto dtype = dtype_named(name);
  // `index` only occurs in operand layouts.
  if (name == "index") {
    type.dtype = DType::kS64;
  } else if (!dtype || *dtype == DType::kToken) {
    scan_.fail(at, fmt::format("the element type {} is not supported", name));
  } else {
    type.dtype = *dtype;
  }
  if (scan_.accept(",")) skip_balanced();  // an encoding
  scan_.expect(">");
  if (!is_valid(type)) scan_.fail(start, "this tensor is too large");
  return type;
}

std::vector<TensorType> Parser::parse_type_list(std::vector<TupleShape>* shapes) {
  std::vector<TensorType> types;
  const auto one = [&] {
    TupleShape shape = parse_leaves(types);
    if (shapes != nullptr) shapes->push_back(std::move(shape));
  };
  if (!scan_.accept("(")) {
    do one();
    while (scan_.accept(","));
    return types;
  }
  while (!scan_.peek(")")) {
    one();
    if (!scan_.accept(",")) break;
  }
  scan_.expect(")");
  return types;
}

void Parser::skip_balanced() {
  std::string open;
  while (true) {
    if (scan_.at_end()) scan_.fail_expected(open.empty() ? "a closing bracket" : "a bracket");
    const char c = scan_.peek();
    if (c == '"') {
      scan_.expect_raw_string();
      continue;
    }
    if (scan_.accept("->")) continue;
    if (c == '(' || c == '[' || c == '{' || c == '<') {
      open += c;
    } else if (c == ')' || c == ']' || c == '}' || c == '>') {
      if (open.empty()) return;
      open.pop_back();
    } else if (c == ',' && open.empty()) {
      return;
    }
    scan_.seek(scan_.position() + 1);
  }
}

// A type where its meaning does not matter: `i32`, `index`, `(tensor<f32>) -> f32`.
void Parser::skip_any_type() {
  const DepthGuard guard(depth_, scan_);
  const auto skip_list = [&] {
    if (!scan_.accept("(")) return skip_any_type();
    while (!scan_.peek(")")) {
      skip_any_type();
      if (!scan_.accept(",")) break;
    }
    scan_.expect(")");
  };
  if (scan_.peek("(")) {
    skip_list();
    scan_.expect("->");
    skip_list();
    return;
  }
  scan_.accept("!");
  scan_.expect_word_of("a type");
  if (!scan_.accept("<")) return;
  while (!scan_.peek(">")) {
    skip_balanced();
    if (!scan_.accept(",")) break;
  }
  scan_.expect(">");
}

}  // namespace spmd::text
