// ModuleBuilder: makes a module of ops in generic form, wherever they were read from. Readers of
// StableHLO (text here, bytecode in frontends/vhlo) derive from it, so that what ops and their
// attributes mean is understood in one place. Its parts are in
//   module_builder.cc   the module, its meshes and functions, ops
//   op_attributes.cc, collective_attributes.cc   dictionaries to typed attributes
//   op_shardings.cc     sharding annotations
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "ir/module.h"
#include "ir/text/attribute.h"
#include "ir/verifier.h"

namespace spmd::text {

using Dict = std::vector<NamedAttribute>;

// An op as far as it has been read; attributes have the names of the generic form.
struct GenericOp {
  size_t position = 0;
  OpCode code = OpCode::kReturn;
  std::string_view spelling;  // the name in what is read
  std::vector<ValueId> operands;
  Dict attributes;
};

// The op of a name, other spellings than the op table's included.
std::optional<OpCode> code_of(std::string_view spelling);

class ModuleBuilder : protected Places {
 protected:
  explicit ModuleBuilder(const std::string& source) : source_(source) { module_.source = source; }

  [[noreturn]] void fail(size_t position, std::string_view fact,
                         std::string_view remedy = {}) const;
  AttributeReader reader(const Dict& dict, std::string_view subject, size_t position) const {
    return AttributeReader(*this, dict, subject, position);
  }

  // ---- module_builder.cc: meshes. All are declared before one is chosen.
  void declare_mesh(const std::string& name, Mesh mesh);
  // The mesh of the module, from the declared ones and those of its attributes; false when there is
  // none.
  bool choose_mesh(const Dict& module_attributes);
  // The mesh of a module that names none, from all of its HLO shardings.
  void derive_mesh(const Dict& module_attributes, const std::set<std::string>& hlo_shardings,
                   bool has_device_groups);
  // What has been read, once all functions are: calls resolved, manual regions raised, verified.
  Module finish_module(const PlaceOfOp& place_of = nullptr);

  // ---- module_builder.cc: functions. `fn_` is the one that is being built.
  void begin_function(const std::string& name, size_t position, bool is_private);
  void check_terminator(size_t position) const;
  // Names arguments after the result that replaces them, or after their location when that
  // result's name tells its place only.
  void set_argument_info(const std::vector<Dict>& arguments,
                         const std::vector<std::string>& locations,
                         const std::vector<Dict>& results);

  // ---- module_builder.cc: ops. Regions come between the two.
  OpId create_open(const GenericOp& op, BlockId block, LocationRef location);
  // Adds attributes and results. Custom calls that stand for another op become that op, or nothing:
  // then the op is erased. The values that the results stand for.
  std::vector<ValueId> complete(GenericOp& op, OpId id, std::vector<TensorType> results);

  // ---- op_shardings.cc
  const Mesh* mesh_named(std::string_view name) const;
  MeshLookup mesh_lookup() const {
    return [this](std::string_view name) { return mesh_named(name); };
  }
  // The sharding that argument or result attributes hold, or null.
  ShardingRef sharding_of(const Dict& dict, int64_t rank);
  // The mesh over which the manual axes of a computation are named: that of its first sharding that
  // has axes.
  Mesh manual_mesh(const Dict& attributes) const;

  std::string source_;
  Module module_;
  Function* fn_ = nullptr;
  int function_index_ = -1;
  std::map<std::string, Mesh, std::less<>> meshes_;
  MeshLookup other_meshes_;  // of what the text stands in; may be null
  int64_t replicas_ = 1;     // of the devices; see ExpandOptions

 private:
  struct PendingCall {
    int function;
    OpId op;
    std::string callee;
    size_t position;
  };

  struct PendingPrograms {
    int function;
    OpId op;
    std::vector<std::vector<std::string>> names;
    size_t position;
  };

  std::optional<Dims> global_shape(const Dict& attributes) const;
  void resolve_calls();
  void name_entry();
  // The code that a custom call stands for, with what that code has as attributes and results;
  // nothing for an op that is erased.
  std::optional<OpCode> meaning_of_call(GenericOp& op, std::vector<TensorType>& results) const;
  OpCode meaning_of_sdy_call(GenericOp& op, std::string_view target) const;

  // ---- op_attributes.cc, collective_attributes.cc
  Attrs attributes_of(const GenericOp& op, OpId id);
  Attrs collective_attributes(const GenericOp& op, OpId id, const AttributeReader& from);
  Attrs expanded_attributes(const GenericOp& op, const AttributeReader& from);
  Attrs run_parallel(const AttributeReader& from, OpId id);
  CollectiveGroups parse_groups(const AttributeReader& from, OpCode code);
  AxisList parse_mesh_axes(const AttributeReader& from, const Attribute& attribute);
  AxisList named_axes(const AttributeReader& from, const Attribute& list, const Mesh& mesh);

  // ---- op_shardings.cc
  // Of a tensor of `rank`.
  ShardingRef to_module_mesh(const NamedSharding& sharding, int64_t rank, size_t position);
  ShardingRef parse_hlo_sharding_string(std::string_view text, size_t position, int64_t rank);
  void set_result_shardings(const GenericOp& op, OpId id);
  Sharding required_sharding(const GenericOp& op, int64_t rank);
  ShardingRef constraint_sharding(const GenericOp& op, int64_t rank);
  AxisList to_module_axes(const AxisList& axes, const Mesh& mesh, size_t position);

  std::vector<std::string> mesh_order_;
  std::vector<PendingCall> calls_;
  std::vector<PendingPrograms> programs_;
  std::map<std::pair<std::string, int64_t>, ShardingRef> hlo_shardings_;
};

}  // namespace spmd::text
