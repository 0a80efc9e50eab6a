#include "ir/text/printer.h"
#include "support/error.h"

namespace spmd::text {

// `"op"(%a) <{properties}> ({regions}) {dict} : (T) -> U`
void Printer::print_generic(const Op& op, int depth) {
  out_ += fmt::format("\"{}\"(", name_of(op.code));
  print_operands(op);
  out_ += ")";
  const std::string properties = this->properties(op);
  if (!properties.empty()) out_ += " <{" + properties + "}>";
  if (!op.regions.empty() && regions_) {
    out_ += " (";
    for (size_t i = 0; i < op.regions.size(); ++i) {
      if (i > 0) out_ += ", ";
      print_region(op.regions[i], depth, /*with_header=*/true);
    }
    out_ += ")";
  }
  std::string entries;
  if (op.code == OpCode::kCollectivePermute && !op.as<CollectivePermuteAttrs>().axes.empty()) {
    entries = "spmd.axes = " + axes(op.as<CollectivePermuteAttrs>().axes);
  }
  out_ += dict(op, entries);
  print_function_type(op);
}

void Printer::print_region(BlockId block, int depth, bool with_header) {
  const std::string indent(static_cast<size_t>(depth) * 2, ' ');
  out_ += "{\n";
  const std::vector<ValueId>& args = fn_->block(block).args;
  if (with_header && !args.empty()) {
    out_ += indent + "^bb0(";
    for (size_t i = 0; i < args.size(); ++i) {
      name_argument(args[i]);
      out_ += fmt::format("{}{}: ", i == 0 ? "" : ", ", name(args[i]));
      print_types({args[i]});
    }
    out_ += "):\n";
  }
  print_block(block, depth + 1);
  out_ += indent + "}";
}

namespace {

bool same_location(const Op& a, const Op& b) {
  if (!a.location || !b.location) return a.location == b.location;
  return *a.location == *b.location;
}

}  // namespace

// The op that a region of two scalars applies to its arguments in order, if it does nothing else.
std::optional<OpCode> Printer::short_reducer(const Op& op) const {
  if (op.operands.size() != 2 || op.results.size() != 1 || op.regions.size() != 1) {
    return std::nullopt;
  }
  const Block& block = fn_->block(op.regions[0]);
  if (block.args.size() != 2 || block.first == OpId::kNone ||
      fn_->op(block.first).next != block.last) {
    return std::nullopt;
  }
  const Op& applied = fn_->op(block.first);
  const Op& returned = fn_->op(block.last);
  if (applied.operands != block.args || applied.results.size() != 1 ||
      returned.operands != applied.results ||
      !std::holds_alternative<NoAttrs>(applied.attrs.get()) || !applied.regions.empty() ||
      fn_->value(applied.results[0]).sharding != nullptr) {
    return std::nullopt;
  }
  if (options_.locations && !(same_location(applied, op) && same_location(returned, op))) {
    return std::nullopt;
  }
  // Reading fills the region with scalars of the result's element type.
  const TensorType scalar{fn_->type(op.results[0]).dtype, {}};
  for (ValueId value : {block.args[0], block.args[1], applied.results[0]}) {
    if (fn_->type(value) != scalar) return std::nullopt;
  }
  return applied.code;
}

void Printer::print_reduce(const Op& op, int depth) {
  out_ += name_of(op.code);
  const size_t operands = op.operands.size() / 2;
  for (size_t i = 0; i < operands; ++i) {
    out_ += fmt::format("{}({} init: {})", i == 0 ? "" : ", ", name(op.operands[i]),
                        name(op.operands[operands + i]));
  }
  const auto reducer = short_reducer(op);
  if (reducer) out_ += fmt::format(" applies {}", name_of(*reducer));
  out_ += " across dimensions = " + list_text(op.as<ReduceAttrs>().dims) + dict(op);
  print_function_type(op);
  if (reducer || !regions_ || op.regions.size() != 1) return;
  const std::vector<ValueId>& args = fn_->block(op.regions[0]).args;
  out_ += "\n" + std::string(static_cast<size_t>(depth) * 2 + 1, ' ') + "reducer";
  for (ValueId arg : args) name_argument(arg);
  for (size_t i = 0; i < operands && operands + i < args.size(); ++i) {
    out_ += fmt::format("({}: ", name(args[i]));
    print_types({args[i]});
    out_ += fmt::format(", {}: ", name(args[operands + i]));
    print_types({args[operands + i]});
    out_ += ") ";
  }
  print_region(op.regions[0], depth, /*with_header=*/false);
}

void Printer::print_while(const Op& op, int depth) {
  out_ += fmt::format("{}(", name_of(op.code));
  std::vector<std::string> loop_names;
  if (regions_ && op.regions.size() == 2) {
    for (size_t i = 0; i < op.operands.size(); ++i) {
      loop_names.push_back(fmt::format("%iterArg_{}", next_argument_++));
      out_ += fmt::format("{}{} = {}", i == 0 ? "" : ", ", loop_names[i], name(op.operands[i]));
    }
  } else {
    print_operands(op);
  }
  out_ += ")";
  if (!op.operands.empty()) {
    out_ += " : ";
    print_types(op.operands);
  }
  const std::string attributes = dict(op);
  if (!attributes.empty()) out_ += " attributes" + attributes;
  if (loop_names.empty() && (!regions_ || op.regions.size() != 2)) return;
  const std::string indent(static_cast<size_t>(depth) * 2 + 1, ' ');
  for (size_t r = 0; r < 2; ++r) {
    out_ += r == 0 ? "\n" + indent + "cond " : " do ";
    const std::vector<ValueId>& args = fn_->block(op.regions[r]).args;
    for (size_t i = 0; i < args.size() && i < loop_names.size(); ++i) {
      names_[index_of(args[i])] = loop_names[i];
    }
    print_region(op.regions[r], depth, /*with_header=*/false);
  }
}

void Printer::print_manual_computation(const Op& op, int depth) {
  const auto& attrs = op.as<ManualComputationAttrs>();
  const auto list = [&](const std::vector<Sharding>& shardings) {
    std::string text;
    for (const Sharding& each : shardings) text += (text.empty() ? "" : ", ") + sharding(each);
    return "[" + text + "]";
  };
  out_ += fmt::format("{}(", name_of(op.code));
  print_operands(op);
  std::string manual;
  for (const AxisRef& axis : attrs.manual_axes) {
    manual += (manual.empty() ? "" : ", ") + to_string(axis, module_.mesh);
  }
  out_ += fmt::format(") in_shardings={} out_shardings={} manual_axes={{{}}}",
                      list(attrs.in_shardings), list(attrs.out_shardings), manual);
  if (regions_ && op.regions.size() == 1) {
    const std::vector<ValueId>& args = fn_->block(op.regions[0]).args;
    out_ += " (";
    for (size_t i = 0; i < args.size(); ++i) {
      name_argument(args[i]);
      out_ += fmt::format("{}{}: ", i == 0 ? "" : ", ", name(args[i]));
      print_types({args[i]});
    }
    out_ += ") ";
    print_region(op.regions[0], depth, /*with_header=*/false);
  }
  out_ += dict(op);
  print_function_type(op);
}

}  // namespace spmd::text
