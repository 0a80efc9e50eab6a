#include "frontends/mlir_bytecode/origin.h"

#include "support/error.h"

namespace spmd::mlir_bytecode {

std::string Origin::place(size_t offset) const {
  return fmt::format("{}: byte {}", source, base + offset);
}

void Origin::fail(size_t offset, std::string_view fact, std::string_view remedy) const {
  throw UserError(place(offset), fact, remedy);
}

}  // namespace spmd::mlir_bytecode
