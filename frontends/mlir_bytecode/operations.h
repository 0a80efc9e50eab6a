// The operations of MLIR bytecode as a tree, their attributes and types still numbers of entries.
#pragma once

#include <optional>
#include <vector>

#include "frontends/mlir_bytecode/container.h"

namespace spmd::mlir_bytecode {

struct Block;

struct Operation {
  size_t offset = 0;                   // in the bytecode
  uint32_t name = 0;                   // in Container::op_names
  uint32_t location = 0;               // in Container::attributes
  std::optional<uint32_t> attributes;  // a dictionary in Container::attributes
  std::optional<uint32_t> properties;  // in Container::properties
  std::vector<uint32_t> result_types;  // in Container::types
  uint32_t first_result = 0;           // number of the value
  std::vector<uint32_t> operands;      // numbers of values
  std::vector<Block> regions;          // one block each; a region without a block is empty
};

struct BlockArgument {
  uint32_t type = 0;
  std::optional<uint32_t> location;
};

struct Block {
  size_t offset = 0;
  uint32_t first_argument = 0;  // number of the value
  std::vector<BlockArgument> arguments;
  std::vector<Operation> operations;
};

struct Program {
  std::vector<Operation> operations;  // the module
  size_t num_values = 0;              // values are numbered through the whole program
};

// Throws UserError: for what is damaged, for regions of several blocks, for operands that are
// defined nowhere before.
Program read_operations(const Origin& origin, const Container& container);

}  // namespace spmd::mlir_bytecode
