// Structural comparison of modules.
#pragma once

#include <optional>
#include <string>

#include "ir/module.h"

namespace spmd {

struct CompareOptions {
  bool locations = false;
};

// What differs first between two modules, or nullopt when they are equal up to ids: "@main, op 3
// (stablehlo.add): operand 1 is another value". Shardings of region arguments do not count, and a
// sharding that is open in all dimensions equals none.
std::optional<std::string> first_difference(const Module& a, const Module& b,
                                            const CompareOptions& options = {});

}  // namespace spmd
