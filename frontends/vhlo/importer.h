// Importer: the operations of a bytecode file become those of a module, in the generic form that
// the StableHLO reader has. Its parts are in
//   import.cc       the module, its meshes, what is said about errors
//   functions.cc    functions, their arguments and results
//   operations.cc   operations and values
//   unsupported.cc  operations that the op table does not have
#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "frontends/mlir_bytecode/operations.h"
#include "frontends/vhlo/attributes.h"
#include "frontends/vhlo/locations.h"
#include "ir/text/module_builder.h"

namespace spmd::vhlo {

class Importer : private text::ModuleBuilder {
 public:
  // Both arguments must outlive the importer.
  Importer(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container);
  Module import();

 private:
  using Operation = mlir_bytecode::Operation;
  using Block = mlir_bytecode::Block;
  using Dict = text::Dict;

  // ---- import.cc
  void check_dialects() const;
  const Operation& module_operation() const;
  void find_meshes(const Operation& module);
  void find_hlo_shardings(const Block& block);
  std::string place_of(const Function& fn, OpId op) const;
  // Places: the operation at an offset; 0 is the one that is being read.
  std::string place(size_t position) const override;
  std::string found(const text::Attribute& attribute) const override;

  // ---- functions.cc
  void import_function(const Operation& op);
  struct Arguments {
    std::vector<Dict> attributes;
    std::vector<std::string> locations;
  };
  void check_sizes(const Operation& module);
  Arguments add_arguments(const Block& block, const text::Attribute* attributes);
  std::vector<Dict> result_attributes(const Block& block, const text::Attribute* attributes);

  // ---- operations.cc
  // What an operation is called, and what its properties are, by the number of its name.
  struct Name {
    std::string text;  // as StableHLO has it, or with the dialect when it is none of VHLO
    std::optional<std::vector<std::string_view>> properties;
  };
  void import_operations(const Block& from, BlockId block);
  void import_operation(const Operation& op, BlockId block);
  void import_region(const Block& from, OpId op);
  bool import_plumbing(const Operation& op);  // tuples and casts, which are no operations here
  Dict attributes_of(const Operation& op);
  void read_properties(const Operation& op, Dict& attributes);
  const Name& name_of(const Operation& op) const { return names_[op.name]; }
  std::vector<TensorType> result_types(const Operation& op);
  std::vector<ValueId> operands_of(const Operation& op);
  void add_operand(const Operation& op, uint32_t value, std::vector<ValueId>& operands);
  // Gives values in the bytecode their values here, of which a tuple has several.
  void define(uint32_t value, uint32_t type, size_t user, const ValueId*& next);
  void define_results(const Operation& op, const std::vector<ValueId>& values);

  // ---- unsupported.cc
  void check_supported(const Operation& module);
  bool is_supported(const Operation& op) const;

  const mlir_bytecode::Origin& origin_;
  const mlir_bytecode::Container& container_;
  TypeTable types_;
  AttributeTable attributes_;
  LocationTable locations_;
  mlir_bytecode::Program program_;
  std::vector<Name> names_;
  LocationRef unknown_location_;

  struct Leaves {
    uint32_t first = 0, count = UINT32_MAX;  // entries of `leaves_`; no count: not defined
    uint32_t type = 0;
  };
  std::vector<Leaves> values_;
  std::vector<ValueId> leaves_;
  std::vector<std::vector<const Operation*>> sources_;  // by function and op
  std::map<size_t, LocationRef> placed_;                // of the operations read, by their offsets
  size_t current_ = 0;  // offset of the operation that is being read
  std::set<std::string> hlo_shardings_;
  bool has_groups_ = false;
};

}  // namespace spmd::vhlo
