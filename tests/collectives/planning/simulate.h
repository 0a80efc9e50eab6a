// Executes reshard plans on pretend devices, each of which holds its block of one tensor.
#pragma once

#include <vector>

#include "collectives/planning/reshard.h"

namespace spmd::testing {

struct Block {
  std::vector<int64_t> shape;
  std::vector<int64_t> data;  // row-major
  bool operator==(const Block&) const = default;
};

// Blocks by device.
using Blocks = std::vector<Block>;

// The elements are numbered.
Block numbered(std::vector<int64_t> shape);

// Distributes a tensor; partial values along unreduced axes sum up to it.
Blocks distribute(const Block& global, const Sharding& sharding, const Mesh& mesh);

// What the devices hold after the steps. Throws InternalError when a permute would have a device
// send two blocks or blocks do not divide.
Blocks execute(const ReshardPlan& plan, const Sharding& from, Blocks blocks, const Mesh& mesh);

// Whether the blocks are those of `global` under `sharding`.
bool holds(const Blocks& blocks, const Block& global, const Sharding& sharding, const Mesh& mesh);

}  // namespace spmd::testing
