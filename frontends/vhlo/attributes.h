// Attributes of VHLO, of MLIR's builtin dialect and of sdy, as the StableHLO reader has them.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "frontends/vhlo/types.h"
#include "ir/text/attribute.h"

namespace spmd::vhlo {

// The attributes of a file, each decoded when it is first asked for. Everything that an attribute
// holds by position has position 0.
class AttributeTable {
 public:
  // `meshes` finds the meshes that shardings name; those are decoded after the meshes are known.
  AttributeTable(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container,
                 TypeTable& types, MeshLookup meshes);

  const text::Attribute& at(uint32_t index);
  // Of a StringAttr, as names and locations have them.
  std::string_view string(uint32_t index, const mlir_bytecode::Cursor& user);
  // The entries of a dictionary.
  const std::vector<text::NamedAttribute>& dictionary(uint32_t index, size_t user);
  TypeTable& types() { return types_; }

 private:
  friend class AttributeDecoder;
  struct Slot {
    std::unique_ptr<text::Attribute> attribute;
    size_t nodes = 0;
  };
  text::Attribute decode(const mlir_bytecode::Entry& entry);
  // Text that attributes point into.
  std::string_view keep(std::string text);

  const mlir_bytecode::Origin& origin_;
  const mlir_bytecode::Container& container_;
  TypeTable& types_;
  MeshLookup meshes_;
  std::vector<Slot> slots_;
  std::deque<std::string> kept_;
  size_t nodes_ = 0;  // of all attributes decoded
  int depth_ = 0;
};

}  // namespace spmd::vhlo
