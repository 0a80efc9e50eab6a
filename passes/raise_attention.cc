#include "passes/raise_attention.h"

#include <algorithm>

#include "ir/builder.h"
#include "passes/raise/attention_match.h"
#include "support/error.h"

namespace spmd {
namespace {

using raise::AttentionMatch;
using raise::Axes;
using raise::Axis;
using raise::kOne;
using raise::Labelled;
using raise::Product;

class AttentionRewriter {
 public:
  AttentionRewriter(Function& fn, const AttentionMatch& match) : fn_(fn), match_(match) {}

  void run() {
    if (!fits()) return;
    const Forward forward = rewrite_forward();
    if (match_.has_backward()) rewrite_backward(forward);
    changed_ = true;
  }
  bool changed() const { return changed_; }

 private:
  struct Forward {
    std::vector<ValueId> operands;
    std::vector<ValueId> results;
  };

  bool fits() const;
  Forward rewrite_forward();
  void rewrite_backward(const Forward& forward);
  OpId first_of_backward() const;
  ValueId rearranged(Builder& builder, ValueId value, const Axes& from, const Axes& to,
                     const Dims& shape) const;
  ValueId operand(Builder& builder, const Labelled& from, const Axes& to) const;
  void replace(Builder& builder, const Product& product, ValueId value, const Axes& axes);
  int64_t size_of(Axis axis) const;

  Axes query_axes() const {
    return {match_.batch, match_.queries, match_.heads, match_.groups, match_.size};
  }
  Axes output_axes() const {
    return {match_.batch, match_.queries, match_.heads, match_.groups, match_.value_size};
  }
  Axes key_axes() const { return {match_.batch, match_.keys, match_.heads, match_.size}; }
  Axes value_axes() const { return {match_.batch, match_.keys, match_.heads, match_.value_size}; }

  Function& fn_;
  const AttentionMatch& match_;
  bool changed_ = false;
};

// The operands are of one type, which the probabilities are rounded to.
bool AttentionRewriter::fits() const {
  const DType dtype = fn_.type(match_.query.value).dtype;
  return fn_.type(match_.key.value).dtype == dtype && fn_.type(match_.value.value).dtype == dtype;
}

int64_t AttentionRewriter::size_of(Axis axis) const {
  for (const Labelled* tensor : {&match_.query, &match_.key, &match_.value}) {
    const auto found = std::find(tensor->axes.begin(), tensor->axes.end(), axis);
    if (axis == kOne || found == tensor->axes.end()) continue;
    return fn_.type(tensor->value).shape[static_cast<size_t>(found - tensor->axes.begin())];
  }
  return 1;
}

ValueId AttentionRewriter::rearranged(Builder& builder, ValueId value, const Axes& from,
                                      const Axes& to, const Dims& shape) const {
  const Axes before = raise::named(from), after = raise::named(to);
  if (before != after) {
    Dims sizes, permutation;
    for (Axis axis : before) sizes.push_back(size_of(axis));
    for (Axis axis : after) {
      permutation.push_back(std::find(before.begin(), before.end(), axis) - before.begin());
    }
    if (fn_.type(value).shape != sizes) value = builder.reshape(value, sizes);
    value = builder.transpose(value, permutation);
  }
  return fn_.type(value).shape == shape ? value : builder.reshape(value, shape);
}

ValueId AttentionRewriter::operand(Builder& builder, const Labelled& from, const Axes& to) const {
  Dims shape;
  for (Axis axis : to) shape.push_back(size_of(axis));
  return rearranged(builder, from.value, from.axes, to, shape);
}

void AttentionRewriter::replace(Builder& builder, const Product& product, ValueId value,
                                const Axes& axes) {
  const ValueId old = fn_.op(product.op).results[0];
  const TensorType type = fn_.type(old);
  value = rearranged(builder, value, axes, product.axes, type.shape);
  if (fn_.type(value).dtype != type.dtype) value = builder.convert(value, type.dtype);
  if (fn_.value(old).sharding) fn_.value(value).sharding = fn_.value(old).sharding;
  fn_.replace_all_uses(old, value);
}

AttentionRewriter::Forward AttentionRewriter::rewrite_forward() {
  const OpId place = match_.output ? match_.output->op : first_of_backward();
  Builder builder = Builder::before(fn_, place);
  builder.location = fn_.op(place).location;
  Forward forward;
  forward.operands = {operand(builder, match_.query, query_axes()),
                      operand(builder, match_.key, key_axes()),
                      operand(builder, match_.value, value_axes())};
  const OpId attention = builder.create(OpCode::kAttention, forward.operands,
                                        AttentionAttrs{match_.scale, match_.causal});
  forward.results = fn_.op(attention).results;
  if (match_.output) replace(builder, *match_.output, forward.results[0], output_axes());
  return forward;
}

// The gradients of all three are there where the first of them is.
OpId AttentionRewriter::first_of_backward() const {
  for (OpId id = fn_.op(match_.scores).next; id != OpId::kNone; id = fn_.op(id).next) {
    for (const auto* product : {&match_.d_query, &match_.d_key, &match_.d_value}) {
      if (*product && (*product)->op == id) return id;
    }
  }
  SPMD_UNREACHABLE("a backward pass before its forward pass");
}

void AttentionRewriter::rewrite_backward(const Forward& forward) {
  const OpId first = first_of_backward();
  Builder builder = Builder::before(fn_, first);
  builder.location = fn_.op(first).location;
  ValueId d_output = operand(builder, match_.d_output, output_axes());
  const DType dtype = fn_.type(match_.query.value).dtype;
  if (fn_.type(d_output).dtype != dtype) d_output = builder.convert(d_output, dtype);
  std::vector<ValueId> operands = forward.operands;
  operands.insert(operands.end(), {forward.results[0], forward.results[1], d_output});
  const OpId backward = builder.create(OpCode::kAttentionBackward, std::move(operands),
                                       AttentionAttrs{match_.scale, match_.causal});
  const std::vector<ValueId> results = fn_.op(backward).results;
  if (match_.d_query) replace(builder, *match_.d_query, results[0], query_axes());
  if (match_.d_key) replace(builder, *match_.d_key, results[1], key_axes());
  if (match_.d_value) replace(builder, *match_.d_value, results[2], value_axes());
}

bool raise_attention(Function& fn) {
  std::vector<OpId> dots;
  walk(fn, [&](OpId id) {
    if (fn.op(id).code == OpCode::kDotGeneral) dots.push_back(id);
  });
  bool changed = false;
  for (OpId id : dots) {
    const std::optional<AttentionMatch> match = raise::match_attention(fn, id);
    if (!match) continue;
    AttentionRewriter rewriter(fn, *match);
    rewriter.run();
    changed |= rewriter.changed();
  }
  return changed;
}

}  // namespace

Pass raise_attention_pass() {
  return {"raise_attention", "softmax attention as one op", [](Module& module, PassContext&) {
            bool changed = false;
            for (const auto& fn : module.functions()) changed |= raise_attention(*fn);
            return changed;
          }};
}

}  // namespace spmd
