// Interpreter: runs functions on all ranks of a space in lockstep.
#pragma once

#include <memory>
#include <unordered_map>

#include "ir/eval/eval.h"
#include "ir/eval/rank_space.h"

namespace spmd::eval {

// A value on every rank: one literal when it is the same object on all of them, else one per rank.
using PerRank = std::vector<Literal>;

inline const Literal& on_rank(const PerRank& value, size_t rank) {
  return value[value.size() == 1 ? 0 : rank];
}

// Where the values of a function may be forgotten: after their last user.
struct Liveness {
  explicit Liveness(const Function& fn);
  std::vector<std::vector<ValueId>> dead_after;  // by op
};

class Interpreter {
 public:
  // `partitioned`: shapes are local everywhere, one rank per device.
  Interpreter(const Module& module, RankSpace space, bool partitioned)
      : module_(module), space_(std::move(space)), partitioned_(partitioned) {}

  // Runs a function; a list of values per rank, or one list when all ranks are given the same.
  std::vector<PerRank> call(const Function& fn, std::vector<PerRank> arguments);

 private:
  // The values of one call of a function. Regions see their outer values here.
  struct Frame {
    const Function& fn;
    const Liveness& liveness;
    std::vector<PerRank> values;  // by id; empty when not (or no longer) needed
  };

  std::vector<PerRank> run_block(Frame& frame, BlockId block, std::vector<PerRank> arguments);
  std::vector<PerRank> operands_of(Frame& frame, const Op& op) const;
  std::vector<PerRank> run_op(Frame& frame, const Op& op, std::vector<PerRank> operands);

  // An op that needs nothing of other ranks.
  std::vector<PerRank> run_local(Frame& frame, const Op& op, std::vector<PerRank> operands);
  Literals run_on_rank(Frame& frame, const Op& op, std::span<Literal> operands, size_t rank);
  bool captures_differ(const Frame& frame, const Op& op) const;

  // control_flow.cc
  std::vector<PerRank> run_control_flow(Frame& frame, const Op& op, std::vector<PerRank> operands);
  std::vector<PerRank> run_while(Frame& frame, const Op& op, std::vector<PerRank> carried);
  // The value of a predicate or branch index. Throws UserError when ranks disagree.
  int64_t agreed(const Op& op, const PerRank& value) const;

  // collective.cc
  std::vector<PerRank> run_collective(Frame& frame, const Op& op, std::vector<PerRank> operands);
  PerRank all_gather(const Op& op, const PerRank& operand);
  PerRank reduced(Frame& frame, const Op& op, const PerRank& operand, const RankGroups& groups);
  PerRank all_reduce(Frame& frame, const Op& op, const PerRank& operand);
  PerRank reduce_scatter(Frame& frame, const Op& op, const PerRank& operand);
  PerRank all_to_all(const Op& op, const PerRank& operand);
  PerRank collective_permute(const Op& op, const PerRank& operand);
  PerRank axis_index(const Op& op);
  PerRank partition_id(const Op& op, const TensorType& type);

  // manual_computation.cc
  std::vector<PerRank> run_manual_computation(Frame& frame, const Op& op,
                                              std::vector<PerRank> operands);
  std::vector<PerRank> run_on_inner_ranks(Frame& frame, BlockId region,
                                          std::vector<PerRank> arguments, const RankSpace& inner);

  const Liveness& liveness_of(const Function& fn);
  // Ranks that values have now: one inside a region that is called for a single rank.
  int64_t num_ranks() const { return single_rank_ ? 1 : space_.size(); }

  const Module& module_;
  RankSpace space_;
  bool partitioned_;
  std::optional<size_t> single_rank_;  // set inside a region that is called for one rank
  int depth_ = 0;
  std::unordered_map<const Function*, std::unique_ptr<Liveness>> liveness_;
};

}  // namespace spmd::eval
