// Types of VHLO and of MLIR's builtin dialect.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "frontends/mlir_bytecode/container.h"
#include "frontends/mlir_bytecode/cursor.h"
#include "ir/type.h"

namespace spmd::vhlo {

struct Type {
  enum class Kind : uint8_t {
    kElement,   // f32; name
    kTensor,    // shape, element; a token is a tensor too
    kTuple,     // parts
    kFunction,  // parts: arguments; results
    kOther,     // name, which nothing here can hold
  };
  Kind kind = Kind::kOther;
  std::string name;  // as StableHLO spells it
  Dims shape;        // kDynamic where it is not known
  uint32_t element = 0;
  std::vector<uint32_t> parts, results;
};

// The types of a file, each decoded when it is first asked for.
class TypeTable {
 public:
  TypeTable(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container);

  const Type& at(uint32_t index);
  // Throw UserError at `user`, the offset of what has the type, when it is none that a value can
  // have.
  TensorType tensor(uint32_t index, size_t user);
  // Appends the type, or the leaves of a tuple.
  void add_leaves(uint32_t index, size_t user, std::vector<TensorType>& leaves);
  // Of an integer or floating-point type: 1 to 64.
  int element_bits(const Type& type, const mlir_bytecode::Cursor& cursor);

 private:
  Type decode(const mlir_bytecode::Entry& entry);
  Type decode_vhlo(mlir_bytecode::Cursor& cursor);
  Type decode_builtin(mlir_bytecode::Cursor& cursor);
  Type decode_text(mlir_bytecode::Cursor& cursor);
  Type tensor_of(mlir_bytecode::Cursor& cursor, std::vector<int64_t> shape);
  uint32_t index(mlir_bytecode::Cursor& cursor);
  std::vector<uint32_t> indices(mlir_bytecode::Cursor& cursor);
  [[noreturn]] void fail_type(const Type& type, size_t user) const;

  const mlir_bytecode::Origin& origin_;
  const mlir_bytecode::Container& container_;
  std::vector<std::optional<Type>> types_;
  int depth_ = 0;
  size_t tuple_parts_ = 0;  // met in one call of add_leaves()
};

}  // namespace spmd::vhlo
