#include "ir/text/printer.h"
#include "sharding/spec/sharding_text.h"
#include "support/error.h"
#include "support/names.h"
#include "support/scanner.h"

namespace spmd {

std::string print_stablehlo(const Module& module, const PrintOptions& options) {
  return text::Printer(module, options).module_text();
}

std::string print_op(const Module& module, const Function& fn, OpId op) {
  PrintOptions options;
  options.elide_large_constants = true;
  return text::Printer(module, options).op_text(fn, op);
}

namespace text {

std::string Printer::module_text() {
  out_ += "module @" + symbol(module_.name);
  const int64_t devices = module_.mesh.num_devices();
  if (module_.mesh.num_axes() > 0) {
    out_ += fmt::format(
        " attributes {{mhlo.num_partitions = {} : i32, mhlo.num_replicas = 1 : i32}}", devices);
  }
  out_ += " {\n";
  if (module_.mesh.num_axes() > 0) {
    out_ += fmt::format("  sdy.mesh @{} = {}\n", module_.mesh_name, mesh_text(module_.mesh));
  }
  for (const auto& fn : module_.functions()) print_function(*fn);
  out_ += "}\n";
  return std::move(out_);
}

std::string Printer::op_text(const Function& fn, OpId op) {
  fn_ = &fn;
  regions_ = false;
  print_op(op, 0);
  out_.pop_back();  // the end of the line
  return std::move(out_);
}

void Printer::print_function(const Function& fn) {
  fn_ = &fn;
  names_.assign(fn.num_value_ids(), {});
  next_argument_ = 0;
  next_value_ = 0;
  out_ +=
      fmt::format("  func.func {} @{}(", fn.is_private() ? "private" : "public", symbol(fn.name()));
  for (size_t i = 0; i < fn.arguments().size(); ++i) {
    if (i > 0) out_ += ", ";
    print_argument(fn, i);
  }
  out_ += ")";
  const size_t results = fn.results().size();
  if (results > 0) out_ += " -> (";
  for (size_t i = 0; i < results; ++i) {
    if (i > 0) out_ += ", ";
    print_result(fn, i);
  }
  if (results > 0) out_ += ")";
  out_ += " {\n";
  print_block(fn.body(), 2);
  out_ += "  }\n";
}

namespace {

class Entries {
 public:
  void add(const std::string& entry) { text_ += (text_.empty() ? "" : ", ") + entry; }
  std::string take() { return text_.empty() ? "" : " {" + text_ + "}"; }

 private:
  std::string text_;
};

}  // namespace

void Printer::print_argument(const Function& fn, size_t index) {
  const ValueId value = fn.arguments()[index];
  name_argument(value);
  out_ += name(value) + ": ";
  print_types({value});
  Entries entries;
  std::string location;
  if (fn.value(value).sharding) {
    entries.add("sdy.sharding = #sdy.sharding" + sharding(*fn.value(value).sharding));
  }
  if (index < fn.argument_info.size()) {
    const ArgumentInfo& info = fn.argument_info[index];
    std::string implied;  // the name that reading gives without being told
    if (info.aliased_result >= 0) {
      entries.add(fmt::format("tf.aliasing_output = {} : i32", info.aliased_result));
      const auto result = static_cast<size_t>(info.aliased_result);
      if (result < fn.result_info.size()) implied = fn.result_info[result].name;
    }
    if (info.donated) entries.add("jax.buffer_donor = true");
    if (info.global_shape) entries.add("spmd.global_shape = " + array_text(*info.global_shape));
    if (info.name != implied) {
      if (is_place_only(implied) && !info.name.empty()) {
        location = fmt::format(" loc(\"{}\")", escape(info.name));
      } else {
        entries.add(fmt::format("spmd.name = \"{}\"", escape(info.name)));
      }
    }
  }
  out_ += entries.take() + location;
}

void Printer::print_result(const Function& fn, size_t index) {
  print_types({fn.results()[index]});
  if (index >= fn.result_info.size()) return;
  const ResultInfo& info = fn.result_info[index];
  Entries entries;
  if (!info.name.empty()) {
    entries.add(fmt::format("jax.result_info = \"{}\"", escape(info.name)));
  }
  if (info.sharding) entries.add("sdy.sharding = #sdy.sharding" + sharding(*info.sharding));
  if (info.global_shape) entries.add("spmd.global_shape = " + array_text(*info.global_shape));
  out_ += entries.take();
}

void Printer::name_argument(ValueId value) {
  names_[index_of(value)] = fmt::format("%arg{}", next_argument_++);
}

void Printer::print_block(BlockId block, int depth) {
  for (OpId op = fn_->block(block).first; op != OpId::kNone; op = fn_->op(op).next) {
    print_op(op, depth);
  }
}

}  // namespace text
}  // namespace spmd
