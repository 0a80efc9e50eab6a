// Which annotation each value's axes came from, and through which op.
#pragma once

#include <string>
#include <vector>

#include "ir/module.h"
#include "sharding/propagation/propagation.h"

namespace spmd {

// States are the function's values by id, then fixed ones in the order in which they were added.
class OriginTable {
 public:
  explicit OriginTable(const Function& fn) : fn_(fn), steps_(fn.num_value_ids()) {}

  // A fixed state: what a result or a manual computation asks for.
  void add_fixed(std::string annotation);
  // `state`, whole so far, took axes that `source` had, through `op`.
  void record(uint32_t state, uint32_t source, OpId op);
  // Of every value that is sharded in the end.
  ShardingOrigins trace() const;

 private:
  static constexpr uint32_t kOwn = UINT32_MAX;
  struct Step {
    uint32_t source = kOwn;
    OpId op = OpId::kNone;
  };

  std::vector<uint32_t> roots() const;
  std::string annotation_of(uint32_t state) const;

  const Function& fn_;
  std::vector<Step> steps_;
  std::vector<std::string> fixed_;
};

}  // namespace spmd
