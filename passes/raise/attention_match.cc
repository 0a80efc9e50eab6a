#include "passes/raise/attention_match.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "passes/raise/dot_axes.h"
#include "passes/raise/softmax_tracer.h"

namespace spmd::raise {
namespace {

// Axes beside those of the scores.
constexpr Axis kHeadSize = 1000, kValueSize = 1001;

// With the dot's operand `query_side` as the queries.
class Matcher {
 public:
  Matcher(const Function& fn, OpId dot, size_t query_side)
      : fn_(fn), dot_(dot), side_(query_side) {}

  std::optional<AttentionMatch> run();

 private:
  bool begin();
  void assign_axes();
  void follow(SoftmaxTracer& tracer);
  bool visit(SoftmaxTracer& tracer, OpId id, size_t operand);
  bool product(const Traced& traced, OpId id, size_t operand);
  void set_value(const Labelled& value);
  bool keep(std::optional<Product>& slot, OpId id, Axes axes);
  void find_gradient(SoftmaxTracer& tracer, ValueId value, const Axes& axes);
  bool all_understood(const SoftmaxTracer& tracer) const;
  bool same(const Labelled& a, const Labelled& b) const {
    return source_of(fn_, a) == source_of(fn_, b);
  }

  const Function& fn_;
  const OpId dot_;
  const size_t side_;
  AttentionMatch match_;
  Axes result_axes_;
  Axes batch_, queries_;  // sorted
  std::unordered_set<OpId> understood_;
  const SoftmaxTracer* tracer_ = nullptr;
  bool without_output_ = false;
};

Axes sorted(Axes axes) {
  std::sort(axes.begin(), axes.end());
  return axes;
}

// Numbers the dimensions of the scores.
bool Matcher::begin() {
  const Op& op = fn_.op(dot_);
  const TensorType& type = fn_.type(op.results[0]);
  if (!is_float(type.dtype)) return false;
  for (size_t d = 0; d < type.shape.size(); ++d) {
    result_axes_.push_back(type.shape[d] == 1 ? kOne : static_cast<Axis>(d));
  }
  const std::optional<DotAxes> axes = axes_of_dot(fn_, op, result_axes_, kHeadSize);
  if (!axes) return false;
  match_.scores = dot_;
  match_.query = {op.operands[side_], axes->operands[side_]};
  match_.key = {op.operands[1 - side_], axes->operands[1 - side_]};
  batch_ = sorted(named(axes->batch));
  queries_ = sorted(named(axes->free[side_]));
  const Axes keys = named(axes->free[1 - side_]);
  if (keys.size() != 1 || queries_.empty() || queries_.size() > 2 || batch_.size() > 2) {
    return false;
  }
  match_.keys = keys[0];
  if (has_axis(match_.query.axes, kHeadSize)) match_.size = kHeadSize;
  return true;
}

bool Matcher::keep(std::optional<Product>& slot, OpId id, Axes axes) {
  if (slot) return false;
  slot = {id, std::move(axes)};
  return true;
}

void Matcher::set_value(const Labelled& value) {
  match_.value = value;
  if (has_axis(value.axes, kValueSize)) match_.value_size = kValueSize;
}

// A dot of a traced value with something else.
bool Matcher::product(const Traced& traced, OpId id, size_t operand) {
  if (traced.kind != Traced::Kind::kExpression) return false;
  const bool probability = traced.expression.is_probability();
  const std::optional<double> factor = traced.expression.score_gradient_factor();
  const bool gradient =
      factor && std::abs(*factor - tracer_->scale()) <= 1e-6 * std::abs(tracer_->scale());
  if (!probability && !gradient) return false;
  const std::optional<DotWithKnown> dot =
      dot_with_known(fn_, fn_.op(id), operand, traced.axes, probability ? kValueSize : kHeadSize);
  if (!dot || sorted(named(dot->batch)) != batch_) return false;
  const Axes contracted = sorted(named(dot->contracted));
  if (contracted == Axes{match_.keys}) {
    if (gradient) return same(dot->other, match_.key) && keep(match_.d_query, id, dot->result);
    if (match_.output) return false;
    set_value(dot->other);
    return keep(match_.output, id, dot->result);
  }
  if (contracted != queries_) return false;
  if (gradient) return same(dot->other, match_.query) && keep(match_.d_key, id, dot->result);
  return match_.d_output.value != ValueId::kNone && same(dot->other, match_.d_output) &&
         keep(match_.d_value, id, dot->result);
}

// Whether `value`, with these axes, is the product of the output's gradient and the values.
void Matcher::find_gradient(SoftmaxTracer& tracer, ValueId value, const Axes& axes) {
  if (!match_.output && !without_output_) return;
  Labelled at{value, axes};
  const Op* op = fn_.def(value);
  while (op != nullptr && op->code != OpCode::kDotGeneral) {
    std::optional<Axes> operand = axes_of_operand(fn_, *op, at.axes);
    if (!operand) return;
    at = {op->operands[0], std::move(*operand)};
    op = fn_.def(at.value);
  }
  if (op == nullptr) return;
  const std::optional<DotAxes> dot = axes_of_dot(fn_, *op, at.axes, kValueSize);
  if (!dot || sorted(named(dot->batch)) != batch_) return;
  const size_t value_side = named(dot->free[0]) == Axes{match_.keys} ? 0 : 1;
  if (named(dot->free[value_side]) != Axes{match_.keys} ||
      sorted(named(dot->free[1 - value_side])) != queries_) {
    return;
  }
  const Labelled values{op->operands[value_side], dot->operands[value_side]};
  const Labelled d_output{op->operands[1 - value_side], dot->operands[1 - value_side]};
  if (match_.value.value == ValueId::kNone) set_value(values);
  if (!same(values, match_.value)) return;
  if (match_.d_output.value != ValueId::kNone && !same(match_.d_output, d_output)) return;
  match_.d_output = d_output;
  Traced traced;
  traced.axes = at.axes;
  traced.expression = SoftmaxExpression::gradient();
  tracer.record(at.value, std::move(traced));
}

bool Matcher::visit(SoftmaxTracer& tracer, OpId id, size_t operand) {
  const Op& op = fn_.op(id);
  if (op.block != fn_.op(dot_).block) return false;
  if (op.code != OpCode::kDotGeneral) return tracer.visit(id);
  return product(*tracer.find(op.operands[operand]), id, operand);
}

// Until nothing new is understood: some ops wait for what others tell.
void Matcher::follow(SoftmaxTracer& tracer) {
  for (size_t before = SIZE_MAX, now = 0; before != now;) {
    before = now;
    for (size_t i = 0; i < tracer.values().size(); ++i) {
      const ValueId value = tracer.values()[i];
      for (const Use& use : fn_.value(value).uses) {
        if (understood_.count(use.op) == 0 && visit(tracer, use.op, use.operand)) {
          understood_.insert(use.op);
        }
      }
    }
    now = understood_.size() + tracer.values().size();
  }
}

bool Matcher::all_understood(const SoftmaxTracer& tracer) const {
  return std::all_of(tracer.values().begin(), tracer.values().end(), [&](ValueId value) {
    const Uses& uses = fn_.value(value).uses;
    return !fn_.value(value).sharding && std::all_of(uses.begin(), uses.end(), [&](const Use& use) {
      return understood_.count(use.op) != 0;
    });
  });
}

// Which is the batch and which are heads makes no difference; so that nothing need be transposed,
// heads come after the positions and batches before.
void Matcher::assign_axes() {
  const Axes query = named(match_.query.axes);
  const auto place = [&](Axis axis) { return std::find(query.begin(), query.end(), axis); };
  for (Axis axis : query) {
    const bool is_batch = has_axis(batch_, axis);
    if (is_batch && match_.batch == kOne &&
        (batch_.size() == 2 || place(axis) < place(match_.queries))) {
      match_.batch = axis;
    } else if (is_batch) {
      match_.heads = axis;
    } else if (axis != kHeadSize && axis != match_.queries) {
      match_.groups = axis;
    }
  }
}

std::optional<AttentionMatch> Matcher::run() {
  if (!begin()) return std::nullopt;
  std::optional<SoftmaxTracer> tracer;
  tracer.emplace(fn_, match_.keys,
                 [&](ValueId value, const Axes& axes) { find_gradient(*tracer, value, axes); });
  tracer_ = &*tracer;
  Traced scores;
  scores.kind = Traced::Kind::kScores;
  scores.axes = result_axes_;
  tracer->record(fn_.op(dot_).results[0], scores);
  follow(*tracer);
  // What the gradient of the probabilities is a product of says what the values are, too.
  if (!match_.output) {
    without_output_ = true;
    follow(*tracer);
  }
  if ((!match_.output && !match_.has_backward()) || !all_understood(*tracer)) return std::nullopt;
  match_.scale = tracer->scale();
  match_.causal = tracer->causal();
  const Axes query = named(match_.query.axes);
  const auto first =
      std::find_if(query.begin(), query.end(), [&](Axis axis) { return has_axis(queries_, axis); });
  match_.queries = match_.causal ? tracer->causal_queries() : *first;
  assign_axes();
  return match_;
}

}  // namespace

std::optional<AttentionMatch> match_attention(const Function& fn, OpId dot) {
  for (size_t side : {0, 1}) {
    if (std::optional<AttentionMatch> match = Matcher(fn, dot, side).run()) return match;
  }
  return std::nullopt;
}

}  // namespace spmd::raise
