#include <algorithm>
#include <numeric>

#include "sharding/rules/rules.h"

namespace spmd::rules {
namespace {

void broadcast_in_dim(const Function& fn, const Op& op, FactorRule& rule) {
  const TensorType& from = fn.type(op.operands[0]);
  const TensorType& to = fn.type(op.results[0]);
  const Dims& dims = op.as<BroadcastInDimAttrs>().dims;
  for (int64_t d = 0; d < to.rank(); ++d) put(rule.results[0], d, rule.add_factor(to.dim(d)));
  for (size_t i = 0; i < dims.size(); ++i) {
    if (from.shape[i] == to.dim(dims[i])) {
      put(rule.operands[0], static_cast<int64_t>(i),
          rule.results[0].dims[static_cast<size_t>(dims[i])][0]);
    }
  }
}

// Walks both shapes from the major end, splitting off common factors: a factor ends where either
// side's dimension ends and the rest divides; dimensions between which no boundary can be found
// need replication.
void reshape(const Function& fn, const Op& op, FactorRule& rule) {
  const Dims& from = fn.type(op.operands[0]).shape;
  const Dims& to = fn.type(op.results[0]).shape;
  const int64_t total = fn.type(op.operands[0]).num_elements();
  if (total == 0) return;
  size_t i = 0, j = 0;
  int64_t left = 1, right = 1;  // unassigned rest of the current dimensions
  const auto next = [](const Dims& shape, size_t& at, int64_t& rest) {
    while (rest == 1 && at < shape.size()) rest = shape[at++];
  };
  while (true) {
    next(from, i, left);
    next(to, j, right);
    if (left == 1 && right == 1) break;
    const int64_t common = std::gcd(left, right);
    // Only whole dimensions, or a split where one side is a multiple of the other, keep blocks
    // contiguous on both sides.
    if (common == left || common == right) {
      const int factor = rule.add_factor(common);
      put(rule.operands[0], static_cast<int64_t>(i) - 1, factor);
      put(rule.results[0], static_cast<int64_t>(j) - 1, factor);
      left /= common;
      right /= common;
      continue;
    }
    // 6x4 -> 8x3: the common major part (2) may be sharded, the rest not.
    int64_t product_left = left, product_right = right;
    const size_t first_i = i - 1, first_j = j - 1;
    while (product_left != product_right) {
      if (product_left < product_right) {
        product_left *= from[i++];
      } else {
        product_right *= to[j++];
      }
    }
    if (common > 1) {
      const int factor = rule.add_factor(common);
      put(rule.operands[0], static_cast<int64_t>(first_i), factor);
      put(rule.results[0], static_cast<int64_t>(first_j), factor);
    }
    const auto need = [&](TensorFactors& tensor, size_t dim, int64_t size) {
      if (size > 1) {
        put(tensor, static_cast<int64_t>(dim), rule.add_factor(size, FactorKind::kNeedReplication));
      }
    };
    need(rule.operands[0], first_i, left / common);
    need(rule.results[0], first_j, right / common);
    for (size_t d = first_i + 1; d < i; ++d) need(rule.operands[0], d, from[d]);
    for (size_t d = first_j + 1; d < j; ++d) need(rule.results[0], d, to[d]);
    left = right = 1;
  }
}

void transpose(const Function& fn, const Op& op, FactorRule& rule) {
  const Dims& permutation = op.as<TransposeAttrs>().permutation;
  for (size_t d = 0; d < permutation.size(); ++d) {
    const int factor = rule.add_factor(fn.type(op.results[0]).shape[d]);
    put(rule.results[0], static_cast<int64_t>(d), factor);
    put(rule.operands[0], permutation[d], factor);
  }
}

// Dimension d of the operands is dimension d of the result. Where `untouched(d)` holds, or there
// are no rows, it passes through; where not, rows move between blocks, unless none are left.
template <typename Untouched>
void same_dims(const Function& fn, const Op& op, FactorRule& rule, Untouched&& untouched) {
  const TensorType& result = fn.type(op.results[0]);
  std::vector<size_t> tensors;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (fn.type(op.operands[i]).rank() == result.rank()) tensors.push_back(i);
  }
  for (int64_t d = 0; d < result.rank(); ++d) {
    int64_t least = result.dim(d), largest = least;
    for (size_t i : tensors) {
      const int64_t size = fn.type(op.operands[i]).dim(d);
      least = std::min(least, size);
      largest = std::max(largest, size);
    }
    const bool passes = untouched(d) || largest == 0, single = least == 1 && largest == 1;
    if (!passes && (single || result.dim(d) == 0)) continue;
    const int factor = passes ? rule.add_factor(largest) : rule.add_exchanged(largest);
    put(rule.results[0], d, factor);
    for (size_t i : tensors) put(rule.operands[i], d, factor);
  }
}

void bitcast_convert(const Function& fn, const Op& op, FactorRule& rule) {
  const int64_t shared = std::min(fn.type(op.operands[0]).rank(), fn.type(op.results[0]).rank());
  for (int64_t d = 0; d < shared; ++d) {
    if (fn.type(op.operands[0]).dim(d) != fn.type(op.results[0]).dim(d)) continue;
    const int factor = rule.add_factor(fn.type(op.results[0]).dim(d));
    put(rule.operands[0], d, factor);
    put(rule.results[0], d, factor);
  }
}

}  // namespace

FactorRule shape(const Function& fn, const Op& op) {
  FactorRule rule = empty_rule(fn, op);
  switch (op.code) {
    case OpCode::kConstant:
    case OpCode::kIota:
      same_dims(fn, op, rule, [](int64_t) { return true; });
      break;
    case OpCode::kBroadcastInDim:
      broadcast_in_dim(fn, op, rule);
      break;
    case OpCode::kReshape:
      reshape(fn, op, rule);
      break;
    case OpCode::kTranspose:
      transpose(fn, op, rule);
      break;
    case OpCode::kConcatenate:
      same_dims(fn, op, rule, [&](int64_t d) { return d != op.as<ConcatenateAttrs>().dim; });
      break;
    case OpCode::kPad: {
      const auto& attrs = op.as<PadAttrs>();
      same_dims(fn, op, rule, [&](int64_t d) {
        const auto i = static_cast<size_t>(d);
        return attrs.low[i] == 0 && attrs.high[i] == 0 && attrs.interior[i] == 0;
      });
      break;
    }
    case OpCode::kReverse: {
      const Dims& dims = op.as<ReverseAttrs>().dims;
      same_dims(fn, op, rule,
                [&](int64_t d) { return std::find(dims.begin(), dims.end(), d) == dims.end(); });
      break;
    }
    case OpCode::kSlice: {
      const auto& attrs = op.as<SliceAttrs>();
      same_dims(fn, op, rule, [&](int64_t d) {
        const auto i = static_cast<size_t>(d);
        return attrs.start[i] == 0 && attrs.stride[i] == 1 &&
               attrs.limit[i] == fn.type(op.operands[0]).dim(d);
      });
      break;
    }
    case OpCode::kBitcastConvert:
      bitcast_convert(fn, op, rule);
      break;
    default:
      break;
  }
  replicate_rest(fn, op, rule);
  switch (op.code) {
    case OpCode::kBroadcastInDim:
    case OpCode::kReshape:
    case OpCode::kTranspose:
    case OpCode::kReverse:
    case OpCode::kSlice:
      rule.linear_operands = {0};
      break;
    case OpCode::kPad:
      rule.linear_operands = {0, 1};
      break;
    case OpCode::kConcatenate:
      for (size_t i = 0; i < op.operands.size(); ++i) {
        rule.linear_operands.push_back(static_cast<int>(i));
      }
      break;
    default:
      break;
  }
  return rule;
}

}  // namespace spmd::rules
