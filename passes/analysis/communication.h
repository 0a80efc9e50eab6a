// What a localised module sends.
#pragma once

#include <string>
#include <vector>

#include "collectives/planning/cost_model.h"
#include "ir/module.h"

namespace spmd {

struct CollectiveUse {
  OpId op;
  CollectiveKind kind;
  std::string axes;  // "data,model"; "explicit" for listed groups
  int64_t group_size = 1;
  int64_t count = 1;  // executions per step: trips of the loops around it
  int64_t bytes = 0;  // sent per rank and step, over all executions
  std::string place;  // location of the op
};

// Every collective of main() that moves data (groups of more than one rank), in program order.
// Loops whose trip count is not known count once.
std::vector<CollectiveUse> collectives_of(const Module& module);

int64_t total_bytes_sent(const std::vector<CollectiveUse>& uses);

// The spelling in reports: "all_gather", ...
const char* name_of(CollectiveKind kind);

}  // namespace spmd
