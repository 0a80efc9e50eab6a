#include "ir/text/enum_names.h"
#include "ir/text/printer.h"
#include "sharding/spec/sharding_text.h"
#include "support/error.h"
#include "support/scanner.h"

namespace spmd::text {

// `op %a, %b, key = value`: the keys and values, or "" for ops that have none.
std::string Printer::keywords(const Op& op) const {
  switch (op.code) {
    case OpCode::kIota:
      return fmt::format("dim = {}", op.as<IotaAttrs>().dim);
    case OpCode::kReverse:
      return "dims = " + list_text(op.as<ReverseAttrs>().dims);
    case OpCode::kBroadcastInDim:
      return "dims = " + list_text(op.as<BroadcastInDimAttrs>().dims);
    case OpCode::kTranspose:
      return "dims = " + list_text(op.as<TransposeAttrs>().permutation);
    case OpCode::kConcatenate:
      return fmt::format("dim = {}", op.as<ConcatenateAttrs>().dim);
    case OpCode::kDynamicSlice:
      return "sizes = " + list_text(op.as<DynamicSliceAttrs>().sizes);
    case OpCode::kReducePrecision: {
      const auto& attrs = op.as<ReducePrecisionAttrs>();
      return fmt::format("format = e{}m{}", attrs.exponent_bits, attrs.mantissa_bits);
    }
    case OpCode::kPad: {
      const auto& attrs = op.as<PadAttrs>();
      return fmt::format("low = {}, high = {}, interior = {}", list_text(attrs.low),
                         list_text(attrs.high), list_text(attrs.interior));
    }
    case OpCode::kCholesky:
      return fmt::format("lower = {}", op.as<CholeskyAttrs>().lower);
    case OpCode::kFft:
      return fmt::format("type = {}, length = {}", enum_name(op.as<FftAttrs>().kind),
                         list_text(op.as<FftAttrs>().length));
    case OpCode::kRngBitGenerator:
      return fmt::format("algorithm = {}", enum_name(op.as<RngBitGeneratorAttrs>().algorithm));
    default:
      return "";
  }
}

// `op %a, %b, key = value : types`
void Printer::print_simple(const Op& op) {
  const std::string keys = keywords(op);
  out_ += name_of(op.code);
  if (!op.operands.empty() || !keys.empty()) out_ += ' ';
  print_operands(op);
  if (!op.operands.empty() && !keys.empty()) out_ += ", ";
  out_ += keys + dict(op);
  if (name_of(op.code).starts_with("chlo.")) {
    out_ += " : ";
    print_types(op.operands);
    out_ += " -> ";
    return print_types(op.results);
  }
  switch (op.code) {
    case OpCode::kBroadcastInDim:
    case OpCode::kTranspose:
    case OpCode::kConcatenate:
    case OpCode::kDynamicSlice:
    case OpCode::kPad:
    case OpCode::kRngBitGenerator:
    case OpCode::kConvert:
    case OpCode::kIsFinite:
    case OpCode::kReshape:
    case OpCode::kBitcastConvert:
    case OpCode::kDynamicUpdateSlice:
      return print_function_type(op);
    case OpCode::kFft:
    case OpCode::kImag:
    case OpCode::kReal:
      return print_function_type(op);
    case OpCode::kComplex:
      out_ += " : ";
      return print_types(op.results);
    case OpCode::kSelect:
      if (op.operands.size() != 3 || op.results.size() != 1) return print_function_type(op);
      out_ += " : ";
      return print_types({op.operands[0], op.results[0]});
    default:
      return print_same_or_function_type(op);
  }
}

// `compare LT, %a, %b, SIGNED : types`
void Printer::print_compare(const Op& op) {
  const auto& attrs = op.as<CompareAttrs>();
  out_ += fmt::format("{} {}, ", name_of(op.code), enum_name(attrs.direction));
  print_operands(op);
  if (attrs.type != CompareType::kNone) out_ += fmt::format(", {}", enum_name(attrs.type));
  out_ += dict(op);
  print_function_type(op);
}

void Printer::print_constant(const Op& op) {
  out_ += fmt::format("{}{} {}", name_of(op.code), dict(op),
                      literal_text(op.as<ConstantAttrs>().value, options_.elide_large_constants));
}

// `axis_index {"x"} : tensor<i32>`
void Printer::print_axis_index(const Op& op) {
  out_ += fmt::format("{} {}{}", name_of(op.code),
                      axes_text(op.as<AxisIndexAttrs>().axes, module_.mesh), dict(op));
  print_same_or_function_type(op);
}

// `top_k(%x, k = 2) : T -> (T, U)`
void Printer::print_top_k(const Op& op) {
  out_ += fmt::format("{}(", name_of(op.code));
  print_operands(op);
  out_ += fmt::format(", k = {}){} : ", op.as<TopKAttrs>().k, dict(op));
  print_types(op.operands);
  out_ += " -> (";
  print_types(op.results);
  out_ += ")";
}

// `optimization_barrier %a, %b : T, U`
void Printer::print_barrier(const Op& op) {
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  out_ += dict(op) + " : ";
  print_types(op.operands);
}

void Printer::print_call(const Op& op, int depth) {
  const int callee = op.as<CallAttrs>().callee;
  const bool exists = callee >= 0 && static_cast<size_t>(callee) < module_.functions().size();
  out_ += depth > 2 ? "func.call @" : "call @";
  out_ += (exists ? symbol(module_.function(callee).name()) : "?") + "(";
  print_operands(op);
  out_ += ")" + dict(op);
  print_function_type(op);
}

void Printer::print_slice(const Op& op) {
  const auto& attrs = op.as<SliceAttrs>();
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  out_ += " [";
  const size_t rank = std::min({attrs.start.size(), attrs.limit.size(), attrs.stride.size()});
  for (size_t i = 0; i < rank; ++i) {
    out_ += fmt::format("{}{}:{}", i == 0 ? "" : ", ", attrs.start[i], attrs.limit[i]);
    if (attrs.stride[i] != 1) out_ += fmt::format(":{}", attrs.stride[i]);
  }
  out_ += "]" + dict(op);
  print_function_type(op);
}

void Printer::print_custom_call(const Op& op) {
  const auto& attrs = op.as<CustomCallAttrs>();
  out_ += fmt::format("{} @{}(", name_of(op.code), symbol(attrs.target));
  print_operands(op);
  out_ += ")";
  std::string entries;
  const auto append = [&](const std::string& entry) {
    entries += (entries.empty() ? "" : ", ") + entry;
  };
  if (!attrs.backend_config.empty()) {
    append("backend_config = \"" + escape(attrs.backend_config) + "\"");
  }
  if (attrs.has_side_effect) append("has_side_effect = true");
  if (!attrs.frontend_attributes.empty()) {
    std::string inner;
    for (const auto& [key, value] : attrs.frontend_attributes) {
      inner +=
          fmt::format("{}\"{}\" = \"{}\"", inner.empty() ? "" : ", ", escape(key), escape(value));
    }
    append("mhlo.frontend_attributes = {" + inner + "}");
  }
  out_ += dict(op, entries);
  print_function_type(op);
}

void Printer::print_return(OpId id) {
  const OpId parent = fn_->parent_op(id);
  out_ += parent == OpId::kNone                                ? "return"
          : fn_->op(parent).code == OpCode::kManualComputation ? "sdy.return"
                                                               : "stablehlo.return";
  const Op& op = fn_->op(id);
  if (op.operands.empty()) return;
  out_ += ' ';
  print_operands(op);
  out_ += " : ";
  print_types(op.operands);
}

// `op %x key=value : T`
void Printer::print_sdy_keyword(const Op& op, const std::string& keyword) {
  out_ += fmt::format("{} ", name_of(op.code));
  print_operands(op);
  out_ += " " + keyword + dict(op) + " : ";
  print_types(op.operands);
}

// `op %x <@mesh, [...]> : T`
void Printer::print_placed(const Op& op) {
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  out_ += ' ' + sharding(op.as<ReshardAttrs>().sharding) + dict(op);
  print_same_or_function_type(op);
}

}  // namespace spmd::text
