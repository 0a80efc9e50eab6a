// Printer of StableHLO text. Its parts are in
//   print_module.cc      module, functions
//   print_op.cc          one op: which form it takes, names, types, shardings
//   print_forms.cc, print_contraction.cc   forms without regions
//   print_regions.cc     forms with regions
//   print_attributes.cc  properties of the generic form
//   print_literal.cc     dense elements
#pragma once

#include "ir/module.h"
#include "ir/text.h"

namespace spmd::text {

// `dense<...> : tensor<...>`
std::string literal_text(const Literal& literal, bool elide_large = false);

// "[1, 2]"
std::string list_text(const Dims& values);
// "array<i64: 1, 2>"
std::string array_text(const Dims& values);

// What follows "@": quoted where the name needs it.
std::string symbol(std::string_view name);

class Printer {
 public:
  Printer(const Module& module, const PrintOptions& options) : module_(module), options_(options) {}
  std::string module_text();
  // One op without its regions, values named by their ids.
  std::string op_text(const Function& fn, OpId op);

 private:
  // ---- print_module.cc
  void print_function(const Function& fn);
  void print_argument(const Function& fn, size_t index);
  void print_result(const Function& fn, size_t index);
  void name_argument(ValueId value);
  void print_block(BlockId block, int depth);

  // ---- print_op.cc
  void print_op(OpId op, int depth);
  void print_body(OpId op, int depth);
  void name_results(OpId op);
  void print_operands(const Op& op);
  void print_operands(const std::vector<ValueId>& values);
  void print_types(const std::vector<ValueId>& values);  // T, U
  void print_function_type(const Op& op);                // " : (T) -> U"
  void print_same_or_function_type(const Op& op);        // " : T" when all types are equal
  void print_location(const Op& op);
  const std::string& name(ValueId value);
  std::string sharding(const Sharding& sharding) const;  // <@mesh, [...]>
  // {a = ..., sdy.sharding = ...}: `entries` and the shardings of the results; "" when empty.
  std::string dict(const Op& op, std::string entries = {}) const;

  // ---- print_forms.cc, print_contraction.cc
  std::string keywords(const Op& op) const;
  void print_simple(const Op& op);
  void print_compare(const Op& op);
  void print_constant(const Op& op);
  void print_axis_index(const Op& op);
  void print_top_k(const Op& op);
  void print_barrier(const Op& op);
  void print_call(const Op& op, int depth);
  void print_slice(const Op& op);
  void print_dot(const Op& op);
  void print_convolution(const Op& op);
  void print_custom_call(const Op& op);
  void print_return(OpId op);
  void print_placed(const Op& op);
  void print_sdy_keyword(const Op& op, const std::string& keyword);

  // ---- print_regions.cc
  void print_generic(const Op& op, int depth);
  void print_region(BlockId block, int depth, bool with_header);
  void print_reduce(const Op& op, int depth);
  void print_while(const Op& op, int depth);
  void print_manual_computation(const Op& op, int depth);
  std::optional<OpCode> short_reducer(const Op& op) const;

  // ---- print_attributes.cc
  std::string properties(const Op& op) const;
  std::string groups(const CollectiveGroups& groups) const;
  std::string axes(const AxisList& axes) const;

  const Module& module_;
  const PrintOptions& options_;
  const Function* fn_ = nullptr;
  std::string out_;
  bool regions_ = true;             // op_text() leaves them out
  std::vector<std::string> names_;  // by value id
  int next_argument_ = 0, next_value_ = 0;
};

}  // namespace spmd::text
