// Parser of StableHLO text: recursive descent without a separate lexer. Its parts are in
//   parse_module.cc     module, functions, meshes, what must be known before the first function
//   parse_generic_module.cc   the same in generic form
//   parse_type.cc       types
//   parse_tuple.cc      tuples
//   parse_literal.cc    dense elements
//   parse_attribute.cc  attributes and dictionaries
//   parse_location.cc   locations
//   parse_op.cc         values and their scopes, the generic form, types of ops
//   parse_pretty.cc     forms `op %a, %b, key = value : types`
//   parse_regions.cc    forms with regions: reduce, while, manual_computation; and calls
// All forms of an op meet in one dictionary of the generic form's names, of which ModuleBuilder
// makes the op.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <unordered_map>

#include "ir/module.h"
#include "ir/text/module_builder.h"
#include "support/scanner.h"
#include "support/scoped_table.h"

namespace spmd::text {

// Tuples are lists of tensors here: the leaves of a type, in order. How they are nested is known
// where a name stands for a tuple.
struct TupleShape {
  bool is_tuple = false;
  uint32_t leaves = 1;
  std::vector<TupleShape> parts;  // of a tuple
};

// The types after the colon of an op. Without an arrow there is one list, and `operands` is empty.
struct Signature {
  size_t position = 0;
  bool functional = false;
  std::vector<TensorType> operands, results;  // leaves
  std::vector<TupleShape> shapes;             // of the results
};

struct ResultName {
  std::string_view name;
  int64_t count = 1;
  size_t position = 0;
};

struct OpText : GenericOp {
  std::vector<ResultName> names;
  std::vector<TupleShape> shapes;  // of the results; empty: no tuple is among them
};

class Parser : private ModuleBuilder {
 public:
  Parser(std::string_view text, const std::string& source,
         Scanner::Kind kind = Scanner::Kind::kFile)
      : ModuleBuilder(source), scan_(text, source, kind), text_(text) {}
  Module parse();
  // One attribute, which is all of the text.
  Attribute parse_alone(const MeshLookup& meshes);

 private:
  std::string place(size_t position) const override { return scan_.place(position); }
  std::string found(const Attribute& attribute) const override;

  // ---- parse_module.cc
  void scan_lines();
  void scan_meshes();
  void scan_resources();
  void parse_pretty_module();
  void begin_function(const std::string& name, size_t position, bool is_private);
  std::pair<std::string, Mesh> parse_mesh();
  void find_mesh(const Dict& attributes);
  bool find_program_grid();
  std::set<std::string> find_hlo_shardings() const;
  bool has_device_groups() const;
  void parse_module_body(bool wrapped);
  void parse_function();
  void parse_arguments(BlockId body, std::vector<Dict>& attributes,
                       std::vector<std::string>& locations);
  std::vector<TensorType> parse_results(std::vector<Dict>& attributes);
  void check_returned(const std::vector<TensorType>& results, size_t position);

  // ---- parse_generic_module.cc
  void parse_generic_module();
  void parse_generic_function();
  std::pair<std::string, Mesh> parse_generic_mesh();
  Dict parse_generic_head();
  Dict parse_generic_tail();

  // ---- parse_type.cc
  TensorType parse_type();
  // T, T or (T, T), tuples as their leaves; `shapes` gets one entry per type.
  std::vector<TensorType> parse_type_list(std::vector<TupleShape>* shapes = nullptr);

  // ---- parse_tuple.cc
  TupleShape parse_leaves(std::vector<TensorType>& leaves);
  // An operand: a value, or all leaves of a tuple.
  void parse_operand(std::vector<ValueId>& operands);
  // `%name : T` of a block's argument.
  std::vector<ValueId> parse_block_argument(BlockId block);
  bool accept_tuple_op(OpText& op, bool generic);
  void parse_tuple(OpText& op, bool generic);
  void parse_tuple_element(OpText& op, bool generic);
  void skip_any_type();
  // Skips text with balanced brackets up to, not including, an unbalanced closing bracket, or a
  // comma outside of brackets.
  void skip_balanced();

  // ---- parse_literal.cc
  Literal parse_dense();           // after "dense"
  Literal parse_dense_resource();  // after "dense_resource"
  Literal literal_of_bytes(const TensorType& type, std::string_view bytes, size_t position);
  std::string hex_bytes(std::string_view digits, size_t position);

  // ---- parse_attribute.cc
  Attribute parse_attribute();
  Attribute parse_dialect_attribute();
  Attribute parse_attribute_alias(std::string_view name, size_t position);
  Attribute parse_dialect_body(std::string_view name, Attribute attribute);
  Attribute parse_conv_dimensions(Attribute attribute);
  Attribute parse_array_attribute(Attribute attribute);
  Attribute parse_number(size_t position);
  void parse_dict(Dict& dict);  // {a = 1, b}
  void parse_dict_entries(Dict& dict, std::string_view close);
  std::string parse_symbol();  // after "@"

  // ---- parse_location.cc
  LocationRef parse_location();             // after "loc"
  Location parse_location_body(int depth);  // inside the parentheses
  void accept_location(OpId op);
  LocationRef text_location(size_t position);

  // ---- parse_op.cc
  void parse_block(BlockId block, size_t open);  // ops up to the closing brace
  void parse_op(BlockId block);
  void parse_result_names(OpText& op);
  void parse_generic(OpText& op, BlockId block);
  void parse_region(OpId op);
  OpCode lookup(std::string_view spelling, size_t position);
  [[noreturn]] void throw_unsupported(std::string_view spelling, size_t position);
  ValueId parse_value();
  std::vector<ValueId> parse_values(std::string_view close);  // up to `close`, which it takes
  void parse_block_arguments(BlockId block, std::string_view close);
  void define(std::string_view name, const std::vector<ValueId>& values, size_t position,
              const TupleShape* shape = nullptr);
  size_t open_scope() const { return values_.size(); }
  void close_scope(size_t mark) { values_.shrink(mark); }
  Signature parse_signature();
  void check_operands(const OpText& op, const Signature& signature);
  // Creates the op from what was read, results included.
  OpId create(OpText& op, BlockId block, std::vector<TensorType> results);
  // Without results and attributes, for ops whose regions come first; finish() adds them.
  OpId create_open(const OpText& op, BlockId block);
  void finish(OpText& op, OpId id, std::vector<TensorType> results);
  void define_results(const OpText& op, const std::vector<ValueId>& results);
  std::vector<TensorType> result_types(const OpText& op, const Signature& signature);
  std::string_view take_word(std::string_view expected) { return scan_.expect_word_of(expected); }

  // ---- parse_pretty.cc
  void parse_pretty(OpText& op, BlockId block);
  void parse_simple(OpText& op, BlockId block);
  void parse_keyword(OpText& op);
  void parse_dot_dimensions(OpText& op, std::string_view name);
  void parse_compare(OpText& op, BlockId block);
  void parse_constant(OpText& op, BlockId block);
  void parse_slice(OpText& op, BlockId block);
  void parse_convolution(OpText& op, BlockId block);
  void parse_window(OpText& op);
  void parse_top_k(OpText& op, BlockId block);
  void parse_return(OpText& op, BlockId block);
  void parse_placed(OpText& op, BlockId block);  // sharding_constraint, reshard
  void parse_axis_index(OpText& op, BlockId block);
  void parse_sdy_keyword(OpText& op, BlockId block, std::string_view keyword);
  void parse_check_const(OpText& op, BlockId block);
  void finish_simple(OpText& op, BlockId block);  // [dict] : types
  void accept_dict(OpText& op) {
    if (scan_.peek("{")) parse_dict(op.attributes);
  }

  // ---- parse_regions.cc
  void parse_reduce(OpText& op, BlockId block);
  void parse_reducer(OpId id, size_t operands);
  void parse_while(OpText& op, BlockId block);
  void parse_manual_computation(OpText& op, BlockId block);
  void parse_custom_call(OpText& op, BlockId block);
  void parse_call(OpText& op, BlockId block);
  void parse_composite(OpText& op, BlockId block);

  // What a name stands for: `count` entries of `pool_`.
  struct Definition {
    std::string_view name;
    uint32_t first, count;
    int shape = -1;  // of a tuple, in `shapes_`
  };
  const Definition* find_name(std::string_view name) const;
  // Of a name at `start`; throws UserError when there is none.
  const Definition& definition_of(std::string_view name, size_t start);
  const Definition& parse_name();

  Scanner scan_;
  std::string_view text_;
  int depth_ = 0;

  std::unordered_map<std::string_view, size_t> aliases_;  // "loc1" -> where its value begins
  std::unordered_map<std::string, size_t> resources_;     // name -> where its string begins
  std::unordered_map<std::string_view, LocationRef> alias_locations_;
  std::vector<size_t> mesh_positions_;
  ScopedTable<Definition> values_;
  std::vector<ValueId> pool_;
  std::deque<TupleShape> shapes_;
};

// Every op of the text that is not in the op table, as one error; returns when it finds none.
void throw_unsupported_ops(std::string_view text, const std::string& source);

}  // namespace spmd::text
