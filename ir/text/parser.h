// Parser of StableHLO text: recursive descent without a separate lexer. Its parts are in
//   parse_module.cc     module, functions, meshes, what must be known before the first function
//   parse_generic_module.cc   the same in generic form
//   parse_type.cc       types
//   parse_literal.cc    dense elements
//   parse_attribute.cc  attributes and dictionaries
//   parse_location.cc   locations
//   parse_op.cc         values and their scopes, the generic form, types of ops
//   parse_pretty.cc     forms `op %a, %b, key = value : types`
//   parse_regions.cc    forms with regions: reduce, while, manual_computation; and calls
//   parse_sharding.cc   sharding annotations
//   op_attributes.cc, collective_attributes.cc   dictionaries to typed attributes
// All forms of an op meet in one dictionary of the generic form's names, so that each op's
// attributes are understood in one place.
#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>

#include "ir/module.h"
#include "ir/text/attribute.h"

namespace spmd::text {

using Dict = std::vector<NamedAttribute>;

// The types after the colon of an op. Without an arrow there is one list, and `operands` is empty.
struct Signature {
  size_t position = 0;
  bool functional = false;
  std::vector<TensorType> operands, results;
};

struct ResultName {
  std::string_view name;
  int64_t count = 1;
  size_t position = 0;
};

// An op as far as it has been read.
struct OpText {
  size_t position = 0;
  OpCode code = OpCode::kReturn;
  std::string_view spelling;  // the name in the text
  std::vector<ResultName> names;
  std::vector<ValueId> operands;
  Dict attributes;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& source)
      : scan_(text, source), text_(text), source_(source) {}
  Module parse();

 private:
  // ---- parse_module.cc
  void scan_lines();
  void scan_resources();
  void parse_pretty_module();
  void begin_function(const std::string& name, size_t position, bool is_private);
  void check_terminator(size_t position);
  std::pair<std::string, Mesh> parse_mesh();
  void find_mesh(const Dict& attributes);
  void derive_mesh(int64_t num_devices);
  bool find_program_grid();
  void parse_module_body(bool wrapped);
  void parse_function();
  void parse_arguments(BlockId body, std::vector<Dict>& attributes,
                       std::vector<std::string>& locations);
  std::vector<TensorType> parse_results(std::vector<Dict>& attributes);
  void set_argument_info(const std::vector<Dict>& arguments,
                         const std::vector<std::string>& locations,
                         const std::vector<Dict>& results);
  std::optional<Dims> global_shape(const Dict& attributes);
  void check_returned(const std::vector<TensorType>& results, size_t position);
  void resolve_calls();

  // ---- parse_generic_module.cc
  void parse_generic_module();
  void parse_generic_function();
  std::pair<std::string, Mesh> parse_generic_mesh();
  Dict parse_generic_head();
  Dict parse_generic_tail();

  // ---- parse_type.cc
  TensorType parse_type();
  std::vector<TensorType> parse_type_list();  // T, T or (T, T)
  void skip_any_type();
  // Skips text with balanced brackets up to, not including, an unbalanced closing bracket, or a
  // comma outside of brackets.
  void skip_balanced();

  // ---- parse_literal.cc
  Literal parse_dense();           // after "dense"
  Literal parse_dense_resource();  // after "dense_resource"
  Literal literal_from_bytes(const TensorType& type, std::string bytes, size_t position);
  std::string hex_bytes(std::string_view digits, size_t position);

  // ---- parse_attribute.cc
  Attribute parse_attribute();
  Attribute parse_dialect_attribute();
  Attribute parse_attribute_alias(std::string_view name, size_t position);
  Attribute parse_dialect_body(std::string_view name, Attribute attribute);
  Attribute parse_conv_dimensions(Attribute attribute);
  Attribute parse_array_attribute(Attribute attribute);
  Attribute parse_number(Attribute attribute);
  void parse_dict(Dict& dict);  // {a = 1, b}
  void parse_dict_entries(Dict& dict, std::string_view close);
  std::string parse_symbol();  // after "@"
  AttributeReader reader(const Dict& dict, std::string_view subject, size_t position) {
    return AttributeReader(scan_, dict, subject, position);
  }

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
  void define(std::string_view name, const std::vector<ValueId>& values, size_t position);
  size_t open_scope() const { return scope_.size(); }
  void close_scope(size_t mark);
  Signature parse_signature();
  void check_operands(const OpText& op, const Signature& signature);
  // Creates the op from what was read, results included.
  OpId create(OpText& op, BlockId block, std::vector<TensorType> results);
  // Without results and attributes, for ops whose regions come first; finish() adds them.
  OpId create_open(const OpText& op, BlockId block);
  void finish(OpText& op, OpId id, std::vector<TensorType> results);
  void define_results(const OpText& op, OpId id);
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
  // Custom calls that stand for something else. True when it has taken care of the op.
  bool finish_special_call(OpText& op, OpId id, const std::vector<TensorType>& results);
  bool finish_sdy_call(OpText& op, OpId id, const std::string& target,
                       const std::vector<TensorType>& results);
  void parse_call(OpText& op, BlockId block);
  void parse_composite(OpText& op, BlockId block);

  // ---- parse_sharding.cc
  const Mesh* mesh_named(std::string_view name) const;
  MeshLookup mesh_lookup() {
    return [this](std::string_view name) { return mesh_named(name); };
  }
  ShardingRef to_module_mesh(const NamedSharding& sharding, size_t position);
  ShardingRef parse_hlo_sharding_string(std::string_view text, size_t position, int64_t rank);
  // The sharding that argument or result attributes hold, or null.
  ShardingRef sharding_of(const Dict& dict, int64_t rank);
  void set_result_shardings(const OpText& op, OpId id);
  Sharding required_sharding(const OpText& op, int64_t rank);
  ShardingRef constraint_sharding(const OpText& op, int64_t rank);
  Mesh manual_mesh(const Dict& attributes) const;
  AxisList to_module_axes(const AxisList& axes, const Mesh& mesh, size_t position);

  // ---- op_attributes.cc, collective_attributes.cc
  Attrs attributes_of(const OpText& op, OpId id);
  Attrs expanded_attributes(const OpText& op, const AttributeReader& from);
  Attrs run_parallel(const AttributeReader& from, OpId id);
  Attrs collective_attributes(const OpText& op, OpId id, const AttributeReader& from);
  CollectiveGroups parse_groups(const AttributeReader& from, OpCode code);
  AxisList parse_mesh_axes(const AttributeReader& from, const Attribute& attribute);

  struct PendingPrograms {
    int function;
    OpId op;
    std::vector<std::vector<std::string>> names;
    size_t position;
  };
  struct PendingCall {
    int function;
    OpId op;
    std::string callee;
    size_t position;
  };
  // What a name stands for: `count` entries of `pool_`.
  struct Definition {
    uint32_t first, count;
  };

  Scanner scan_;
  std::string_view text_;
  std::string source_;
  Module module_;
  Function* fn_ = nullptr;
  int function_index_ = -1;
  int depth_ = 0;

  std::unordered_map<std::string_view, size_t> aliases_;  // "loc1" -> where its value begins
  std::unordered_map<std::string, size_t> resources_;     // name -> where its string begins
  std::unordered_map<std::string_view, LocationRef> alias_locations_;
  std::map<std::string, Mesh, std::less<>> meshes_;
  std::vector<size_t> mesh_positions_;
  std::unordered_map<std::string_view, Definition> values_;
  std::vector<ValueId> pool_;
  std::vector<std::string_view> scope_;  // names in the order of their definition
  std::vector<PendingCall> calls_;
  std::vector<PendingPrograms> programs_;
  int64_t replicas_ = 1;  // of the devices; see ExpandOptions
  std::map<std::pair<std::string, int64_t>, ShardingRef> hlo_shardings_;
};

// Every op of the text that is not in the op table, as one error; returns when it finds none.
void throw_unsupported_ops(std::string_view text, const std::string& source);

}  // namespace spmd::text
