#include "passes/partition/rank_scalar.h"

#include <algorithm>

namespace spmd {

ValueId axis_offset(Builder& builder, const AtomList& axes, const AtomTable& atoms, DType dtype,
                    int64_t scale) {
  const ValueId index = builder.convert(
      builder.value(OpCode::kAxisIndex, {}, AxisIndexAttrs{atoms.to_axes(axes)}), dtype);
  if (scale == 1) return index;
  return builder.binary(OpCode::kMultiply, index,
                        builder.scalar(dtype, static_cast<double>(scale)));
}

namespace {

// clamp(low, offset + slope * index, high)
struct Ramp {
  int64_t offset = 0, slope = 0, low = 0, high = 0;

  int64_t operator()(int64_t index) const { return std::clamp(offset + slope * index, low, high); }

  // At all ranks of a run: the ramp is monotone, so that equal ends are enough for a level run, and
  // never bends inside of a run of its own slope.
  bool fits(const RankFunction::Run& run) const {
    const int64_t last = run.end() - 1;
    if ((*this)(run.first) != run.value || (*this)(last) != run.last_value()) return false;
    return run.count <= 2 || run.slope == 0 || run.slope == slope;
  }
};

class RampFit {
 public:
  explicit RampFit(const RankFunction& values) : values_(values) {}

  // Through two neighbours of different value: the first such or, where values rise from a bound,
  // the last.
  std::optional<Ramp> ramp() const {
    const std::vector<Step> steps = find_steps();
    if (steps.empty()) return std::nullopt;
    for (const Step& step : {steps.front(), steps.back(), steps[steps.size() / 2]}) {
      if (const auto found = through(step)) return found;
    }
    return std::nullopt;
  }

 private:
  // Two ranks of different value, with none in between that has a value.
  struct Step {
    int64_t i, j, value_i, value_j;
  };

  std::vector<Step> find_steps() const {
    std::vector<Step> steps;
    const RankFunction::Run* before = nullptr;
    for (const RankFunction::Run& run : values_.runs()) {
      if (before != nullptr && before->last_value() != run.value) {
        steps.push_back({before->end() - 1, run.first, before->last_value(), run.value});
      }
      if (run.slope != 0) {
        for (int64_t i : {run.first, run.end() - 2}) {
          steps.push_back({i, i + 1, run.at(i), run.at(i + 1)});
        }
      }
      before = &run;
    }
    return steps;
  }

  std::optional<Ramp> through(const Step& step) const {
    const int64_t distance = step.j - step.i, rise = step.value_j - step.value_i;
    if (rise % distance != 0) return std::nullopt;
    Ramp ramp;
    ramp.slope = rise / distance;
    ramp.offset = step.value_i - ramp.slope * step.i;
    ramp.low = values_.min();
    ramp.high = values_.max();
    const auto& runs = values_.runs();
    const bool fits =
        std::all_of(runs.begin(), runs.end(), [&](const auto& run) { return ramp.fits(run); });
    return fits ? std::optional(ramp) : std::nullopt;
  }

  const RankFunction& values_;
};

ValueId emit_ramp(Builder& b, const Ramp& ramp, ValueId index, int64_t ranks) {
  const auto scalar = [&](int64_t value) {
    return b.scalar(DType::kS32, static_cast<double>(value));
  };
  ValueId value = index;
  if (ramp.slope != 1) value = b.binary(OpCode::kMultiply, value, scalar(ramp.slope));
  if (ramp.offset != 0) value = b.binary(OpCode::kAdd, value, scalar(ramp.offset));
  const int64_t first = ramp.offset;
  const int64_t last = ramp.offset + ramp.slope * (ranks - 1);
  const bool inside = std::min(first, last) >= ramp.low && std::max(first, last) <= ramp.high;
  if (inside) return value;
  return b.value(OpCode::kClamp, {scalar(ramp.low), value, scalar(ramp.high)});
}

ValueId emit_lookup(Builder& b, const RankFunction& values, ValueId index, int64_t ranks) {
  std::vector<int32_t> entries(static_cast<size_t>(ranks), 0);
  for (const RankFunction::Run& run : values.runs()) {
    for (int64_t rank = run.first; rank < run.end(); ++rank) {
      entries[static_cast<size_t>(rank)] = static_cast<int32_t>(run.at(rank));
    }
  }
  const ValueId table = b.constant(Literal::of(TensorType{DType::kS32, {ranks}}, entries));
  const ValueId entry = b.value(OpCode::kDynamicSlice, {table, index}, DynamicSliceAttrs{{1}});
  return b.reshape(entry, {});
}

}  // namespace

ValueId rank_scalar(Builder& b, const AtomList& axes, const AtomTable& atoms,
                    const RankFunction& values) {
  if (values.empty()) return b.scalar(DType::kS32, 0);
  if (const auto same = values.uniform()) {
    return b.scalar(DType::kS32, static_cast<double>(*same));
  }
  const int64_t ranks = atoms.extent(axes);
  const ValueId index = axis_offset(b, axes, atoms, DType::kS32, 1);
  if (const auto ramp = RampFit(values).ramp()) return emit_ramp(b, *ramp, index, ranks);
  return emit_lookup(b, values, index, ranks);
}

}  // namespace spmd
