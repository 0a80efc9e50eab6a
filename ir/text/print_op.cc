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
    case OpCode::kTriangularSolve:
    case OpCode::kAttention:
    case OpCode::kAttentionBackward:
      return print_generic(op, depth);
    case OpCode::kPropagationBarrier:
      return print_sdy_keyword(
          op,
          fmt::format("allowed_direction={}", enum_name(op.as<PropagationBarrierAttrs>().allowed)));
    case OpCode::kShardingGroup:
      return print_sdy_keyword(op, fmt::format("group_id={}", op.as<ShardingGroupAttrs>().group));
    case OpCode::kOptimizationBarrier:
      return op.operands.empty() ? print_generic(op, depth) : print_barrier(op);
    case OpCode::kReduce:
      return print_reduce(op, depth);
    case OpCode::kWhile:
      return print_while(op, depth);
    case OpCode::kManualComputation:
      return print_manual_computation(op, depth);
    case OpCode::kReturn:
      return print_return(id);
    case OpCode::kCall:
      return print_call(op, depth);
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
    case OpCode::kCompare:
      return print_compare(op);
    case OpCode::kConstant:
      return print_constant(op);
    case OpCode::kAxisIndex:
      return print_axis_index(op);
    case OpCode::kTopK:
      return print_top_k(op);
    default:
      return print_simple(op);
  }
}

std::string symbol(std::string_view name) {
  bool plain = !name.empty();
  for (const char c : name) {
    plain = plain && ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '$');
  }
  return plain ? std::string(name) : "\"" + escape(name) + "\"";
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
