// Where bytecode came from, for messages.
#pragma once

#include <string>
#include <string_view>

namespace spmd::mlir_bytecode {

struct Origin {
  std::string source;      // the file
  std::string_view bytes;  // the bytecode
  size_t base = 0;         // its first byte's offset in the file

  // `at` points into `bytes`, or just behind them.
  size_t offset(const char* at) const { return static_cast<size_t>(at - bytes.data()); }
  // "model.mlirbc: byte 120", of an offset in the bytecode.
  std::string place(size_t offset) const;
  [[noreturn]] void fail(size_t offset, std::string_view fact, std::string_view remedy = {}) const;
};

}  // namespace spmd::mlir_bytecode
