#include "passes/raise/axes.h"

#include <algorithm>

#include "ir/dtype.h"

namespace spmd::raise {
namespace {

// From one shape to another that differs in dimensions of size 1 only.
std::optional<Axes> reshaped(const Dims& from, const Axes& axes, const Dims& to) {
  Axes result;
  size_t next = 0;
  const auto skip_ones = [&] {
    while (next < from.size() && from[next] == 1) ++next;
  };
  for (int64_t size : to) {
    if (size == 1) {
      result.push_back(kOne);
      continue;
    }
    skip_ones();
    if (next == from.size() || from[next] != size) return std::nullopt;
    result.push_back(axes[next++]);
  }
  skip_ones();
  if (next != from.size()) return std::nullopt;
  return result;
}

Axes broadcast(const Op& op, const Dims& from, const Axes& axes, const Dims& to) {
  Axes result;
  for (int64_t size : to) result.push_back(size == 1 ? kOne : kSame);
  const Dims& dims = op.as<BroadcastInDimAttrs>().dims;
  for (size_t d = 0; d < from.size(); ++d) {
    if (from[d] != 1) result[static_cast<size_t>(dims[d])] = axes[d];
  }
  return result;
}

bool converts_floats(const Function& fn, const Op& op) {
  return op.code == OpCode::kConvert && is_float(fn.type(op.operands[0]).dtype) &&
         is_float(fn.type(op.results[0]).dtype);
}

}  // namespace

bool has_axis(const Axes& axes, Axis axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Axes named(const Axes& axes) {
  Axes result;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(result),
               [](Axis axis) { return axis >= 0; });
  return result;
}

std::optional<Axes> axes_of_result(const Function& fn, const Op& op, const Axes& operand) {
  if (converts_floats(fn, op)) return operand;
  const auto from = [&]() -> const Dims& { return fn.type(op.operands[0]).shape; };
  switch (op.code) {
    case OpCode::kReshape:
      return reshaped(from(), operand, fn.type(op.results[0]).shape);
    case OpCode::kBroadcastInDim:
      return broadcast(op, from(), operand, fn.type(op.results[0]).shape);
    case OpCode::kTranspose: {
      Axes result;
      for (int64_t d : op.as<TransposeAttrs>().permutation) {
        result.push_back(operand[static_cast<size_t>(d)]);
      }
      return result;
    }
    default:
      return std::nullopt;
  }
}

std::optional<Axes> axes_of_operand(const Function& fn, const Op& op, const Axes& result) {
  if (converts_floats(fn, op)) return result;
  if (op.code == OpCode::kReshape) {
    return reshaped(fn.type(op.results[0]).shape, result, fn.type(op.operands[0]).shape);
  }
  if (op.code != OpCode::kTranspose) return std::nullopt;
  const Dims& permutation = op.as<TransposeAttrs>().permutation;
  Axes operand(permutation.size());
  for (size_t d = 0; d < permutation.size(); ++d) {
    operand[static_cast<size_t>(permutation[d])] = result[d];
  }
  return operand;
}

Labelled source_of(const Function& fn, Labelled from) {
  while (const Op* op = fn.def(from.value)) {
    if (op->code == OpCode::kConvert) break;  // other numbers
    std::optional<Axes> axes = axes_of_operand(fn, *op, from.axes);
    if (!axes) break;
    from = {op->operands[0], std::move(*axes)};
  }
  return from;
}

std::optional<Axes> joined(const Axes& a, const Axes& b) {
  if (a.size() != b.size()) return std::nullopt;
  Axes result = a;
  for (size_t d = 0; d < a.size(); ++d) {
    if (a[d] == kSame)
      result[d] = b[d];
    else if (b[d] != kSame && a[d] != b[d])
      return std::nullopt;
  }
  return result;
}

}  // namespace spmd::raise
