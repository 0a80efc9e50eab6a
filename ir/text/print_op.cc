#include "ir/text/enum_names.h"
#include "ir/text/printer.h"
#include "sharding/spec/sharding_text.h"
#include "support/error.h"
#include "support/scanner.h"

namespace spmd::text {

void Printer::print_op(OpId id, int depth) {
  out_.append(static_cast<size_t>(depth) * 2, ' ');
  if (regions_) name_results(id);
  const Op& op = fn_->op(id);
  if (op.results.size() == 1) {
    out_ += name(op.results[0]) + " = ";
  } else if (op.results.size() > 1) {
    std::string first = name(op.results[0]);
    first.erase(std::min(first.find('#'), first.size()));
    out_ += fmt::format("{}:{} = ", first, op.results.size());
  }
  print_body(id, depth);
  print_location(op);
  out_ += '\n';
}

void Printer::name_results(OpId id) {
  const Op& op = fn_->op(id);
  if (op.results.empty()) return;
  const int number = next_value_++;
  for (size_t i = 0; i < op.results.size(); ++i) {
    names_[index_of(op.results[i])] =
        op.results.size() == 1 ? fmt::format("%{}", number) : fmt::format("%{}#{}", number, i);
  }
}

// Names of values that no text has named (of a single op) come from their ids.
const std::string& Printer::name(ValueId value) {
  if (names_.size() <= index_of(value)) names_.resize(index_of(value) + 1);
  std::string& text = names_[index_of(value)];
  if (text.empty()) {
    const Value& unnamed = fn_->value(value);
    text = unnamed.def == OpId::kNone && unnamed.block == fn_->body()
               ? fmt::format("%arg{}", unnamed.index)
               : fmt::format("%v{}", index_of(value));
  }
  return text;
}

void Printer::print_body(OpId id, int depth) {
  const Op& op = fn_->op(id);
  switch (op.code) {
    case OpCode::kGather:
    case OpCode::kScatter:
    case OpCode::kReduceWindow:
    case OpCode::kSelectAndScatter:
    case OpCode::kSort:
    case OpCode::kCase:
    case OpCode::kIf:
    case OpCode::kAllGather:
    case OpCode::kAllReduce:
    case OpCode::kAllToAll:
    case OpCode::kReduceScatter:
    case OpCode::kCollectivePermute:
      return print_generic(op, depth);
    case OpCode::kOptimizationBarrier:
      if (op.operands.empty()) return print_generic(op, depth);
      out_ += name_of(op.code);
      out_ += ' ';
      print_operands(op);
      out_ += dict(op) + " : ";
      return print_types(op.operands);
    case OpCode::kReduce:
      return print_reduce(op, depth);
    case OpCode::kWhile:
      return print_while(op, depth);
    case OpCode::kManualComputation:
      return print_manual_computation(op, depth);
    case OpCode::kReturn:
      return print_return(id);
    case OpCode::kCustomCall:
      return print_custom_call(op);
    case OpCode::kSlice:
      return print_slice(op);
    case OpCode::kDotGeneral:
      return print_dot(op);
    case OpCode::kConvolution:
      return print_convolution(op);
    case OpCode::kReshard:
    case OpCode::kShardingConstraint:
      return print_placed(op);
    case OpCode::kCall:
      out_ += depth > 2 ? "func.call @" : "call @";
      out_ += callee_name(op) + "(";
      print_operands(op);
      out_ += ")" + dict(op);
      return print_function_type(op);
    default:
      break;
  }
  if (!print_keyword_form(op)) print_pretty_elementwise(op);
}

std::string Printer::callee_name(const Op& op) const {
  const int callee = op.as<CallAttrs>().callee;
  const bool exists = callee >= 0 && static_cast<size_t>(callee) < module_.functions().size();
  return exists ? symbol(module_.function(callee).name()) : "?";
}

// `op %a, %b : T`
void Printer::print_pretty_elementwise(const Op& op) {
  out_ += name_of(op.code);
  if (!op.operands.empty()) out_ += ' ';
  print_operands(op);
  out_ += dict(op);
  switch (op.code) {
    case OpCode::kConvert:
    case OpCode::kIsFinite:
    case OpCode::kReshape:
    case OpCode::kBitcastConvert:
    case OpCode::kDynamicUpdateSlice:
      return print_function_type(op);
    case OpCode::kErf:
    case OpCode::kSquare:
      out_ += " : ";
      print_types(op.operands);
      out_ += " -> ";
      return print_types(op.results);
    case OpCode::kSelect:
      if (op.operands.size() != 3 || op.results.size() != 1) return print_function_type(op);
      out_ += " : ";
      return print_types({op.operands[0], op.results[0]});
    default:
      return print_same_or_function_type(op);
  }
}

// The ops whose attributes follow the operands as `key = value`.
bool Printer::print_keyword_form(const Op& op) {
  std::string keys;
  bool same_type = false;
  switch (op.code) {
    case OpCode::kCompare: {
      const auto& attrs = op.as<CompareAttrs>();
      out_ += fmt::format("{} {}, ", name_of(op.code), enum_name(attrs.direction));
      print_operands(op);
      if (attrs.type != CompareType::kNone) out_ += fmt::format(", {}", enum_name(attrs.type));
      out_ += dict(op);
      print_function_type(op);
      return true;
    }
    case OpCode::kConstant:
      out_ +=
          fmt::format("{}{} {}", name_of(op.code), dict(op),
                      literal_text(op.as<ConstantAttrs>().value, options_.elide_large_constants));
      return true;
    case OpCode::kAxisIndex:
      out_ += fmt::format("{} {}{}", name_of(op.code),
                          axes_text(op.as<AxisIndexAttrs>().axes, module_.mesh), dict(op));
      print_same_or_function_type(op);
      return true;
    case OpCode::kTopK:
      out_ += fmt::format("{}(", name_of(op.code));
      print_operands(op);
      out_ += fmt::format(", k = {}){} : ", op.as<TopKAttrs>().k, dict(op));
      print_types(op.operands);
      out_ += " -> (";
      print_types(op.results);
      out_ += ")";
      return true;
    case OpCode::kIota:
      keys = fmt::format("dim = {}", op.as<IotaAttrs>().dim);
      same_type = true;
      break;
    case OpCode::kReducePrecision: {
      const auto& attrs = op.as<ReducePrecisionAttrs>();
      keys = fmt::format("format = e{}m{}", attrs.exponent_bits, attrs.mantissa_bits);
      same_type = true;
      break;
    }
    case OpCode::kReverse:
      keys = "dims = " + list_text(op.as<ReverseAttrs>().dims);
      same_type = true;
      break;
    case OpCode::kBroadcastInDim:
      keys = "dims = " + list_text(op.as<BroadcastInDimAttrs>().dims);
      break;
    case OpCode::kTranspose:
      keys = "dims = " + list_text(op.as<TransposeAttrs>().permutation);
      break;
    case OpCode::kConcatenate:
      keys = fmt::format("dim = {}", op.as<ConcatenateAttrs>().dim);
      break;
    case OpCode::kPad: {
      const auto& attrs = op.as<PadAttrs>();
      keys = fmt::format("low = {}, high = {}, interior = {}", list_text(attrs.low),
                         list_text(attrs.high), list_text(attrs.interior));
      break;
    }
    case OpCode::kDynamicSlice:
      keys = "sizes = " + list_text(op.as<DynamicSliceAttrs>().sizes);
      break;
    case OpCode::kRngBitGenerator:
      keys = fmt::format("algorithm = {}", enum_name(op.as<RngBitGeneratorAttrs>().algorithm));
      break;
    default:
      return false;
  }
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  out_ += (op.operands.empty() ? "" : ", ") + keys + dict(op);
  if (same_type) {
    print_same_or_function_type(op);
  } else {
    print_function_type(op);
  }
  return true;
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

namespace {

std::string precision_text(const std::vector<Precision>& list, std::string_view before,
                           std::string_view after) {
  std::string text = "[";
  for (size_t i = 0; i < list.size(); ++i) {
    text += fmt::format("{}{}{}{}", i == 0 ? "" : ", ", before, enum_name(list[i]), after);
  }
  return text + "]";
}

std::string algorithm_text(const DotAlgorithm& a) {
  return fmt::format(
      "<lhs_precision_type = {}, rhs_precision_type = {}, accumulation_type = {}, "
      "lhs_component_count = {}, rhs_component_count = {}, num_primitive_operations = {}, "
      "allow_imprecise_accumulation = {}>",
      name_of(a.lhs), name_of(a.rhs), name_of(a.accumulation), a.lhs_components, a.rhs_components,
      a.primitive_operations, a.allow_imprecise_accumulation);
}

}  // namespace

void Printer::print_dot(const Op& op) {
  const auto& attrs = op.as<DotAttrs>();
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  if (!attrs.lhs_batch.empty() || !attrs.rhs_batch.empty()) {
    out_ += fmt::format(", batching_dims = {} x {}", list_text(attrs.lhs_batch),
                        list_text(attrs.rhs_batch));
  }
  out_ += fmt::format(", contracting_dims = {} x {}", list_text(attrs.lhs_contracting),
                      list_text(attrs.rhs_contracting));
  if (!attrs.precision.empty()) out_ += ", precision = " + precision_text(attrs.precision, "", "");
  if (attrs.algorithm) out_ += ", algorithm = " + algorithm_text(*attrs.algorithm);
  out_ += dict(op);
  print_function_type(op);
}

namespace {

// "[b, 0, 1, f]" from where its letters and dimensions stand.
std::string dimension_letters(char first, int64_t first_at, char second, int64_t second_at,
                              const Dims& spatial) {
  std::vector<std::string> letters(spatial.size() + 2, "?");
  const auto put = [&](int64_t at, std::string text) {
    if (at >= 0 && static_cast<size_t>(at) < letters.size()) {
      letters[static_cast<size_t>(at)] = std::move(text);
    }
  };
  put(first_at, std::string(1, first));
  put(second_at, std::string(1, second));
  for (size_t i = 0; i < spatial.size(); ++i) put(spatial[i], std::to_string(i));
  std::string text = "[";
  for (size_t i = 0; i < letters.size(); ++i) text += (i == 0 ? "" : ", ") + letters[i];
  return text + "]";
}

}  // namespace

void Printer::print_convolution(const Op& op) {
  const auto& a = op.as<ConvolutionAttrs>();
  out_ += fmt::format("{}(", name_of(op.code));
  print_operands(op);
  std::string pad, reverse;
  for (size_t i = 0; i < a.pad_low.size() && i < a.pad_high.size(); ++i) {
    pad += fmt::format("{}[{}, {}]", i == 0 ? "" : ", ", a.pad_low[i], a.pad_high[i]);
  }
  for (size_t i = 0; i < a.reversal.size(); ++i) {
    reverse += fmt::format("{}{}", i == 0 ? "" : ", ", static_cast<bool>(a.reversal[i]));
  }
  out_ += fmt::format(
      ") dim_numbers = {}x{}->{}, window = {{stride = {}, pad = [{}], lhs_dilate = {}, "
      "rhs_dilate = {}, reverse = [{}]}}",
      dimension_letters('b', a.input_batch, 'f', a.input_feature, a.input_spatial),
      dimension_letters('i', a.kernel_input_feature, 'o', a.kernel_output_feature,
                        a.kernel_spatial),
      dimension_letters('b', a.output_batch, 'f', a.output_feature, a.output_spatial),
      list_text(a.stride), pad, list_text(a.lhs_dilation), list_text(a.rhs_dilation), reverse);
  std::string entries = fmt::format("batch_group_count = {} : i64, feature_group_count = {} : i64",
                                    a.batch_group_count, a.feature_group_count);
  if (!a.precision.empty()) {
    entries += ", precision_config = " + precision_text(a.precision, "#stablehlo<precision ", ">");
  }
  out_ += dict(op, entries);
  print_function_type(op);
}

std::string symbol(std::string_view name) {
  bool plain = !name.empty();
  for (const char c : name) {
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '$');
  }
  return plain ? std::string(name) : "\"" + escape(name) + "\"";
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

// `op %x <@mesh, [...]> : T`
void Printer::print_placed(const Op& op) {
  out_ += name_of(op.code);
  out_ += ' ';
  print_operands(op);
  out_ += ' ' + sharding(op.as<ReshardAttrs>().sharding) + dict(op);
  print_same_or_function_type(op);
}

void Printer::print_operands(const Op& op) { print_operands(op.operands); }

void Printer::print_operands(const std::vector<ValueId>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out_ += ", ";
    out_ += name(values[i]);
  }
}

namespace {

std::string type_text(const TensorType& type) {
  return type.dtype == DType::kToken ? "!stablehlo.token" : to_string(type);
}

}  // namespace

void Printer::print_types(const std::vector<ValueId>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out_ += ", ";
    out_ += type_text(fn_->type(values[i]));
  }
}

void Printer::print_function_type(const Op& op) {
  out_ += " : (";
  print_types(op.operands);
  out_ += ") -> ";
  const bool list = op.results.size() != 1;
  if (list) out_ += "(";
  print_types(op.results);
  if (list) out_ += ")";
}

void Printer::print_same_or_function_type(const Op& op) {
  bool same = op.results.size() == 1;
  for (size_t i = 0; same && i < op.operands.size(); ++i) {
    same = fn_->type(op.operands[i]) == fn_->type(op.results[0]);
  }
  if (!same) return print_function_type(op);
  out_ += " : ";
  print_types(op.results);
}

void Printer::print_location(const Op& op) {
  if (!options_.locations || op.location == nullptr) return;
  const Location& location = *op.location;
  if (location == Location{}) return;
  const std::string file = fmt::format("\"{}\":{}:0", escape(location.file), location.line);
  if (location.name.empty()) {
    out_ += fmt::format(" loc({})", file);
  } else if (location.file.empty()) {
    out_ += fmt::format(" loc(\"{}\")", escape(location.name));
  } else {
    out_ += fmt::format(" loc(\"{}\"({}))", escape(location.name), file);
  }
}

std::string Printer::sharding(const Sharding& sharding) const {
  return sharding_text(sharding, module_.mesh, module_.mesh_name);
}

std::string Printer::dict(const Op& op, std::string entries) const {
  bool any = false;
  for (ValueId result : op.results) any = any || fn_->value(result).sharding != nullptr;
  if (any) {
    std::string list;
    for (ValueId result : op.results) {
      const Value& value = fn_->value(result);
      // A result without a sharding is open in all dimensions.
      const Sharding open = Sharding::replicate(value.type.rank(), /*open=*/true);
      list += (list.empty() ? "" : ", ") + sharding(value.sharding ? *value.sharding : open);
    }
    entries += (entries.empty() ? "" : ", ") +
               fmt::format("sdy.sharding = #sdy.sharding_per_value<[{}]>", list);
  }
  return entries.empty() ? "" : " {" + entries + "}";
}

}  // namespace spmd::text
