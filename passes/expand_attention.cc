#include "passes/expand_attention.h"

#include <limits>

#include "codegen/attention_kernels.h"
#include "ir/builder.h"
#include "support/error.h"

namespace spmd {
namespace {

// Dimensions of scores: [batch, head, query, group, key], as a dot of queries and keys has them.
class Expansion {
 public:
  Expansion(Function& fn, OpId id)
      : fn_(fn),
        op_(fn.op(id)),
        attrs_(op_.as<AttentionAttrs>()),
        builder_(Builder::before(fn, id)) {
    builder_.location = op_.location;
    dtype_ = fn.type(op_.operands[0]).dtype;
    sums_ = accumulation_type(dtype_);
  }

  std::vector<ValueId> forward();
  std::vector<ValueId> backward();

 private:
  struct Softmax {
    ValueId probabilities, maximum, sum;
  };

  ValueId dot(ValueId lhs, ValueId rhs, DotAttrs attrs, DType dtype);
  Softmax softmax();
  ValueId masked(ValueId scores);
  ValueId along_keys(ValueId rows, const Dims& shape) {
    return builder_.broadcast(rows, shape, {0, 1, 2, 3});
  }
  ValueId row_sum(ValueId x) {
    return builder_.reduce(x, builder_.scalar(sums_, 0), {4}, OpCode::kAdd);
  }
  ValueId scaled(ValueId x) {
    return builder_.binary(OpCode::kMultiply, x, builder_.splat(fn_.type(x), attrs_.scale));
  }

  Function& fn_;
  const Op op_;
  const AttentionAttrs attrs_;
  Builder builder_;
  DType dtype_, sums_;
};

ValueId Expansion::dot(ValueId lhs, ValueId rhs, DotAttrs attrs, DType dtype) {
  const ValueId operands[] = {lhs, rhs};
  TensorType type = infer_types(fn_, OpCode::kDotGeneral, operands, attrs)[0].with_dtype(dtype);
  const OpId created =
      builder_.create(OpCode::kDotGeneral, {lhs, rhs}, {std::move(type)}, std::move(attrs));
  return fn_.op(created).results[0];
}

ValueId Expansion::masked(ValueId scores) {
  const TensorType& type = fn_.type(scores);
  const TensorType square{DType::kS32, {type.dim(2), type.dim(4)}};
  const ValueId visible =
      builder_.compare(CompareDirection::kGe, builder_.iota(square, 0), builder_.iota(square, 1));
  const ValueId mask = builder_.broadcast(visible, type.shape, {2, 4});
  const ValueId hidden = builder_.splat(type, -std::numeric_limits<double>::infinity());
  return builder_.select(mask, scores, hidden);
}

Expansion::Softmax Expansion::softmax() {
  ValueId scores =
      scaled(dot(op_.operands[0], op_.operands[1], {{0, 2}, {0, 2}, {4}, {3}, {}, {}}, sums_));
  if (attrs_.causal) scores = masked(scores);
  const Dims shape = fn_.type(scores).shape;
  const ValueId lowest = builder_.constant(reducer_identity(OpCode::kMaximum, sums_));
  const ValueId maximum = builder_.reduce(scores, lowest, {4}, OpCode::kMaximum);
  const ValueId exponentials =
      builder_.value(OpCode::kExponential,
                     {builder_.binary(OpCode::kSubtract, scores, along_keys(maximum, shape))});
  const ValueId sum = row_sum(exponentials);
  return {builder_.binary(OpCode::kDivide, exponentials, along_keys(sum, shape)), maximum, sum};
}

std::vector<ValueId> Expansion::forward() {
  const Softmax rows = softmax();
  const ValueId statistics =
      builder_.binary(OpCode::kAdd, rows.maximum, builder_.value(OpCode::kLog, {rows.sum}));
  const ValueId output = dot(builder_.convert(rows.probabilities, dtype_), op_.operands[2],
                             {{0, 1}, {0, 2}, {4}, {1}, {}, {}}, dtype_);
  return {builder_.transpose(output, {0, 2, 1, 3, 4}),
          builder_.transpose(statistics, {0, 1, 3, 2})};
}

// The sum of p * d along a row is output * d_output as well; of the probabilities it is more exact,
// since the output is rounded.
std::vector<ValueId> Expansion::backward() {
  const ValueId query = op_.operands[0], key = op_.operands[1], value = op_.operands[2],
                d_output = op_.operands[5];
  const ValueId p = softmax().probabilities;
  const ValueId rounded = builder_.convert(p, dtype_);
  const ValueId d_value = dot(rounded, d_output, {{0, 1}, {0, 2}, {2, 3}, {1, 3}, {}, {}}, dtype_);
  const ValueId d = dot(d_output, value, {{0, 2}, {0, 2}, {4}, {3}, {}, {}}, sums_);
  const ValueId mean = row_sum(builder_.binary(OpCode::kMultiply, p, d));
  const ValueId centred =
      builder_.binary(OpCode::kSubtract, d, along_keys(mean, fn_.type(d).shape));
  const ValueId d_scores =
      builder_.convert(scaled(builder_.binary(OpCode::kMultiply, centred, p)), dtype_);
  const ValueId d_query = dot(d_scores, key, {{0, 1}, {0, 2}, {4}, {1}, {}, {}}, dtype_);
  const ValueId d_key = dot(d_scores, query, {{0, 1}, {0, 2}, {2, 3}, {1, 3}, {}, {}}, dtype_);
  return {builder_.transpose(d_query, {0, 2, 1, 3, 4}), builder_.transpose(d_key, {0, 2, 1, 3}),
          builder_.transpose(d_value, {0, 2, 1, 3})};
}

// Those that have no kernel.
std::vector<OpId> to_expand(const Function& fn, const codegen::AttentionTarget& target) {
  std::vector<OpId> found;
  walk(fn, [&](OpId id) {
    const Op& op = fn.op(id);
    if (family_of(op.code) != OpFamily::kAttention) return;
    if (codegen::attention_kernel(fn, op, target) == codegen::AttentionKernel::kNone)
      found.push_back(id);
  });
  return found;
}

void expand(Function& fn, OpId id) {
  Expansion expansion(fn, id);
  const std::vector<ValueId> values =
      fn.op(id).code == OpCode::kAttention ? expansion.forward() : expansion.backward();
  for (size_t i = 0; i < values.size(); ++i) {
    fn.replace_all_uses(fn.op(id).results[i], values[i]);
  }
  fn.erase_op(id);
}

// On a GPU that is a loss worth knowing of; once.
void tell(PassContext& context, const Op& first, size_t count) {
  const CompileOptions& options = context.options;
  if (options.kernels != KernelTarget::kCuda) return;
  std::string why =
      "kernels of attention are for floats of 16 and 32 bits and heads of up to 256 numbers";
  if (!options.attention.compiler)
    why = options.attention.library ? "cuDNN's kernels are for 16-bit floats and heads of a "
                                      "multiple of 8 numbers, up to 128"
                                    : options.why_no_attention_library;
  context.remark(
      "expand_attention", first,
      fmt::format("{} attention ops are done by matrix products and a softmax: {}", count, why));
}

// Those that only lack the library; once.
void tell_of_library(const Function& fn, PassContext& context) {
  const CompileOptions& options = context.options;
  if (options.kernels != KernelTarget::kCuda || options.attention.library) return;
  const Op* first = nullptr;
  size_t count = 0;
  walk(fn, [&](OpId id) {
    const Op& op = fn.op(id);
    if (family_of(op.code) != OpFamily::kAttention ||
        codegen::attention_kernel(fn, op, {.library = true}) != codegen::AttentionKernel::kLibrary)
      return;
    if (first == nullptr) first = &op;
    ++count;
  });
  if (count > 0)
    context.remark("expand_attention", *first,
                   fmt::format("{} attention ops are done by kernels in float32, which are slower "
                               "than cuDNN's: {}",
                               count, options.why_no_attention_library));
}

bool expand_those_without_kernel(Module& module, PassContext& context) {
  size_t count = 0;
  for (const auto& fn : module.functions()) {
    const std::vector<OpId> found = to_expand(*fn, context.options.attention);
    if (count == 0 && !found.empty()) tell(context, fn->op(found[0]), found.size());
    for (OpId id : found) expand(*fn, id);
    count += found.size();
    tell_of_library(*fn, context);
  }
  return count > 0;
}

}  // namespace

bool expand_attention(Module& module) {
  PassContext context;
  return expand_those_without_kernel(module, context);
}

Pass expand_attention_pass() {
  return {"expand_attention", "attention as dots and a softmax", expand_those_without_kernel};
}

}  // namespace spmd
