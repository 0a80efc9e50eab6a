// Rebuilder: writes a function anew, op by op, with other types.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "support/error.h"

namespace spmd {

// What stands for each value of a function, by its number.
class ValueTable {
 public:
  explicit ValueTable(const Function& from) : new_(from.num_value_ids(), ValueId::kNone) {}

  ValueId& operator[](ValueId old) { return new_[index_of(old)]; }
  bool contains(ValueId old) const { return new_[index_of(old)] != ValueId::kNone; }
  ValueId at(ValueId old) const {
    SPMD_CHECK(contains(old), "no value stands for value {}", index_of(old));
    return new_[index_of(old)];
  }

 private:
  std::vector<ValueId> new_;
};

// Base of passes that change the types of most values. The old function keeps its types while the
// new one grows; `map_` leads from old to new values.
class Rebuilder {
 public:
  explicit Rebuilder(const Function& from) : from_(from), to_(from.name()) {}
  virtual ~Rebuilder() = default;

 protected:
  // Creates what stands for an op of the old function, and maps its results.
  virtual void copy(OpId id, Builder& builder) = 0;
  virtual TensorType new_type(ValueId value) const = 0;
  virtual ShardingRef new_sharding(ValueId value) const { return from_.value(value).sharding; }

  // Copies arguments, body, argument_info and result_info.
  void rebuild_function();
  void copy_block(BlockId block, Builder& builder);
  // Control flow: arguments of new types, ops through copy().
  void copy_region(BlockId source, BlockId region);
  // Scalar code of reducers and comparators, as it is; it may refer to outer values.
  void copy_verbatim(BlockId source, BlockId region);
  std::vector<ValueId> mapped(const std::vector<ValueId>& values) const;
  void map_results(const Op& op, OpId created);
  // The value of a free source (is_free_source) made anew in another type: a splat, an iota from 0,
  // a scalar broadcast. kNone when its elements are stored.
  ValueId made_anew(const Op& source, const TensorType& type, Builder& builder) const;

  const Function& from_;
  Function to_;
  ValueTable map_{from_};
};

}  // namespace spmd
