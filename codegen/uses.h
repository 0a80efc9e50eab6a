// How the values of a function are used, as far as fusion asks.
#pragma once

#include <vector>

#include "ir/module.h"

namespace spmd::codegen {

struct ValueUses {
  // Elements that consumers read, views looked through; huge when some consumer needs the value in
  // memory: an op that is no elementwise kernel, a return, an op in another block.
  int64_t demand = 0;
  bool by_view = false;  // some user is a view that does more than relabel
};

inline constexpr int64_t kMemoryDemand = int64_t{1} << 60;

// By value id.
std::vector<ValueUses> analyze_uses(const Function& fn);

// Whether the op only gives its operand another shape, the row-major order of elements unchanged.
bool is_relabeling(const Function& fn, const Op& op);
// Whether the result is a view of the operand.
bool is_view(const Op& op);

}  // namespace spmd::codegen
