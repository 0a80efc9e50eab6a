// SoftmaxTracer: follows a product of queries and keys through the ops of a softmax and of its
// derivative, and says of each value what it is.
#pragma once

#include <functional>
#include <unordered_map>

#include "passes/raise/axes.h"
#include "passes/raise/softmax_algebra.h"

namespace spmd::raise {

struct Traced {
  enum class Kind : uint8_t {
    kScores,   // scale * product, masked or not
    kMaximum,  // of a row of scores
    kShifted,  // scores minus their row's maximum
    kExpression,
  };
  Kind kind = Kind::kExpression;
  Axes axes;
  double scale = 1;     // of scores
  bool causal = false;  // scores that are masked
  SoftmaxExpression expression;
};

class SoftmaxTracer {
 public:
  // `keys`: the axis that rows run along. `find_gradient` is asked about operands that are not
  // known and must be the probabilities' gradient, with these axes, for the op to be understood; it
  // may record() values.
  using FindGradient = std::function<void(ValueId, const Axes&)>;
  SoftmaxTracer(const Function& fn, Axis keys, FindGradient find_gradient)
      : fn_(fn), keys_(keys), find_gradient_(std::move(find_gradient)) {}

  void record(ValueId value, Traced traced);
  const Traced* find(ValueId value) const;
  // In the order in which they became known.
  const std::vector<ValueId>& values() const { return values_; }

  // Whether the op's result is understood from its operands; then it is recorded. `id` is no dot.
  bool visit(OpId id);

  // Of the scores whose exponentials were taken.
  double scale() const { return scale_; }
  bool causal() const { return causal_; }
  Axis causal_queries() const { return causal_queries_; }

 private:
  std::optional<Traced> moved(const Op& op) const;
  std::optional<Traced> binary(const Op& op) const;
  std::optional<Traced> arithmetic(OpCode code, const Traced& a, const Traced& b) const;
  std::optional<Traced> selection(const Op& op);
  std::optional<Traced> exponential(const Op& op);
  std::optional<Traced> reduction(const Op& op) const;
  std::optional<Traced> negation(const Op& op) const;
  std::optional<Traced> operand(ValueId value, const Traced* other) const;
  std::optional<Traced> constant(ValueId value) const;
  bool is_mask_of(const Axes& axes, ValueId mask, bool visible_first);

  const Function& fn_;
  const Axis keys_;
  const FindGradient find_gradient_;
  std::vector<ValueId> values_;
  std::unordered_map<ValueId, Traced> traced_;
  std::optional<Traced> softmax_;  // the scores whose exponentials were taken
  double scale_ = 1;
  bool causal_ = false;
  Axis causal_queries_ = kOne;
};

}  // namespace spmd::raise
