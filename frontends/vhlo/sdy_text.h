// The text of sdy's attributes, from their encoding: what stands there is then checked by the same
// reader as text is.
#pragma once

#include <string>

#include "frontends/mlir_bytecode/container.h"
#include "frontends/mlir_bytecode/cursor.h"

namespace spmd::vhlo {

class AttributeTable;

class SdyText {
 public:
  SdyText(const mlir_bytecode::Origin& origin, const mlir_bytecode::Container& container,
          AttributeTable& attributes)
      : origin_(origin), container_(container), attributes_(attributes) {}

  // `#sdy.mesh<["x"=2]>`, `#sdy.sharding<...>`, `#sdy.sharding_per_value<[...]>`; empty for an
  // attribute that shardings do not consist of. `code` is the first number of its encoding, which
  // `cursor` has passed.
  std::string attribute(uint64_t code, mlir_bytecode::Cursor& cursor);

 private:
  std::string mesh(mlir_bytecode::Cursor& cursor);          // <["x"=2], device_ids=[1, 0]>
  std::string mesh_or_name(mlir_bytecode::Cursor& cursor);  // @mesh or mesh<["x"=2]>
  std::string sharding(uint64_t code, mlir_bytecode::Cursor& cursor);  // <@mesh, [{"x"}, {?}]>
  std::string shardings(mlir_bytecode::Cursor& cursor);                // [<...>, <...>]
  std::string dimension(mlir_bytecode::Cursor& cursor);                // {"x", ?}p1
  std::string axes(mlir_bytecode::Cursor& cursor);                     // "x", "y":(1)2
  std::string axis(mlir_bytecode::Cursor& cursor);
  std::string quoted_string(mlir_bytecode::Cursor& cursor);
  // The attribute whose number comes next: calls `read` with its code, one of `codes`.
  template <typename Read>
  std::string part(mlir_bytecode::Cursor& cursor, std::initializer_list<uint64_t> codes,
                   Read&& read);
  // A number of things and the text of each.
  template <typename Read>
  std::string list(mlir_bytecode::Cursor& cursor, Read&& read);

  const mlir_bytecode::Origin& origin_;
  const mlir_bytecode::Container& container_;
  AttributeTable& attributes_;
  size_t written_ = 0;  // bytes of the attribute that is being read
};

// Of the axes of a manual computation, which are strings.
inline constexpr uint64_t kSdyManualAxes = 0;

}  // namespace spmd::vhlo
