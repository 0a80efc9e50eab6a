#include "passes/split_reductions.h"

#include <algorithm>
#include <numeric>

#include "ir/builder.h"

namespace spmd {
namespace {

// Fewer elements are reduced faster by one kernel than by two.
constexpr int64_t kWorthTwoKernels = 1 << 18;
// Neighbouring results that one warp has when what is reduced lies across memory.
constexpr int64_t kWarp = 32;
// Elements that a part has at least: a turn of a block's threads, or of its lines of warps.
constexpr int64_t kLeastAlong = 4096, kLeastAcross = 128;
// Pieces of work that are aimed at: several for each place that runs one, so that all end together.
constexpr int64_t kWanted = 6 * kGpuParallelism;

// How many parts to make of each result's elements; 1: it stays whole.
int64_t parts_wanted(const Dims& shape, const Dims& dims) {
  int64_t elements = 1, reduced = 1;
  for (int64_t size : shape) elements *= size;
  for (int64_t dim : dims) reduced *= shape[static_cast<size_t>(dim)];
  if (elements < kWorthTwoKernels) return 1;
  size_t innermost = shape.size() - 1;
  while (innermost > 0 && shape[innermost] == 1) --innermost;
  const bool along =
      std::find(dims.begin(), dims.end(), static_cast<int64_t>(innermost)) != dims.end();
  const int64_t results = elements / reduced;
  const int64_t pieces = along ? results : (results + kWarp - 1) / kWarp;
  if (pieces >= kGpuParallelism) return 1;
  return std::min(kWanted / pieces, reduced / (along ? kLeastAlong : kLeastAcross));
}

int64_t largest_divisor(int64_t number, int64_t limit) {
  for (int64_t d = std::min(number, limit); d > 1; --d)
    if (number % d == 0) return d;
  return 1;
}

class ReductionSplitter {
 public:
  explicit ReductionSplitter(Function& fn) : fn_(fn) {}

  bool run() {
    bool changed = false;
    walk(fn_, [&](OpId id) {
      if (fn_.op(id).code == OpCode::kReduce) changed = split(id) || changed;
    });
    return changed;
  }

 private:
  bool split(OpId id) {
    const Op& op = fn_.op(id);
    if (op.operands.size() != 2) return false;
    const std::optional<OpCode> reducer = reducer_of(fn_, op.regions[0]);
    const ValueId operand = op.operands[0], init = op.operands[1], result = op.results[0];
    const TensorType type = fn_.type(operand);
    if (!reducer || type.dtype != fn_.type(result).dtype || is_complex(type.dtype)) return false;
    Dims dims = op.as<ReduceAttrs>().dims;
    std::sort(dims.begin(), dims.end());
    choose_parts(type.shape, dims);
    if (parts_ == 1) return false;

    Builder builder = Builder::before(fn_, id);
    builder.location = op.location;
    const bool widens = is_float(type.dtype) && bit_width(type.dtype) < 32;
    const DType sum = widens ? DType::kF32 : type.dtype;
    const ValueId elements = builder.convert(builder.reshape(operand, shape_), sum);
    const ValueId identity = builder.constant(reducer_identity(*reducer, sum));
    const ValueId partial = builder.reduce(elements, identity, first_, *reducer);
    const ValueId whole = builder.reduce(partial, builder.convert(init, sum), second_, *reducer);
    fn_.replace_all_uses(result, builder.convert(whole, type.dtype));
    fn_.erase_op(id);
    return true;
  }

  // The outermost reduced dimensions, or as much of them as it takes, count the parts.
  void choose_parts(const Dims& shape, const Dims& dims) {
    int64_t wanted = parts_wanted(shape, dims);
    parts_ = 1;
    shape_.clear(), first_.clear(), second_.clear();
    int64_t kept = 0;  // dimensions that the first reduction leaves
    for (size_t d = 0; d < shape.size(); ++d) {
      const bool reduced =
          std::find(dims.begin(), dims.end(), static_cast<int64_t>(d)) != dims.end();
      if (!reduced) {
        shape_.push_back(shape[d]);
        ++kept;
        continue;
      }
      const int64_t parts = largest_divisor(shape[d], wanted);
      if (parts > 1) {
        shape_.push_back(parts);
        second_.push_back(kept++);
      }
      wanted = parts == shape[d] ? wanted / parts : 1;
      parts_ *= parts;
      if (parts == shape[d] && parts > 1) continue;
      first_.push_back(static_cast<int64_t>(shape_.size()));
      shape_.push_back(shape[d] / parts);
    }
    if (first_.empty()) parts_ = 1;
  }

  Function& fn_;
  // Of the reduction being split.
  int64_t parts_ = 1;
  Dims shape_;           // its operand's, with the parts as dimensions
  Dims first_, second_;  // dimensions of `shape_`, and of what is left after those
};

}  // namespace

Pass split_reductions_pass() {
  return {"split_reductions", "reductions with few results in two steps",
          [](Module& module, PassContext&) { return ReductionSplitter(module.main()).run(); }};
}

}  // namespace spmd
