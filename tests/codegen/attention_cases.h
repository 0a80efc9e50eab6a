// Programs of attention ops.
#pragma once

#include <ostream>
#include <string>

#include "tests/codegen/plan_testing.h"

namespace spmd::testing {

struct AttentionShape {
  int64_t batch, queries, heads, groups, size, keys, width;
};

inline void PrintTo(const AttentionShape& n, std::ostream* out) {
  *out << n.batch << "x" << n.queries << "x" << n.heads << "x" << n.groups << "x" << n.size
       << " by " << n.keys << "x" << n.width;
}

// Both passes, of arguments: query, key, value and the output's gradient.
Module attention_layer(const AttentionShape& n, const std::string& dtype, bool causal);

}  // namespace spmd::testing
