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

std::optional<int64_t> uniform(const std::vector<int64_t>& values,
                               const std::vector<bool>& matters) {
  std::optional<int64_t> common;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!matters[i]) continue;
    if (common && *common != values[i]) return std::nullopt;
    common = values[i];
  }
  return common;
}

namespace {

// clamp(low, offset + slope * index, high)
struct Ramp {
  int64_t offset = 0, slope = 0, low = 0, high = 0;

  int64_t operator()(size_t index) const {
    return std::clamp(offset + slope * static_cast<int64_t>(index), low, high);
  }
};

class RampFit {
 public:
  RampFit(const std::vector<int64_t>& values, const std::vector<bool>& matters) : values_(values) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (matters[i]) known_.push_back(i);
    }
  }

  // Through two neighbours of different value: the first such or, where values rise from a bound,
  // the last.
  std::optional<Ramp> ramp() const {
    std::vector<size_t> steps;
    for (size_t k = 0; k + 1 < known_.size(); ++k) {
      if (values_[known_[k]] != values_[known_[k + 1]]) steps.push_back(k);
    }
    if (steps.empty()) return std::nullopt;
    for (size_t k : {steps.front(), steps.back(), steps[steps.size() / 2]}) {
      if (const auto found = through(known_[k], known_[k + 1])) return found;
    }
    return std::nullopt;
  }

 private:
  std::optional<Ramp> through(size_t i, size_t j) const {
    const auto distance = static_cast<int64_t>(j - i);
    if ((values_[j] - values_[i]) % distance != 0) return std::nullopt;
    Ramp ramp;
    ramp.slope = (values_[j] - values_[i]) / distance;
    ramp.offset = values_[i] - ramp.slope * static_cast<int64_t>(i);
    ramp.low = ramp.high = values_[i];
    for (size_t k : known_) {
      ramp.low = std::min(ramp.low, values_[k]);
      ramp.high = std::max(ramp.high, values_[k]);
    }
    for (size_t k : known_) {
      if (ramp(k) != values_[k]) return std::nullopt;
    }
    return ramp;
  }

  const std::vector<int64_t>& values_;
  std::vector<size_t> known_;
};

ValueId emit_ramp(Builder& b, const Ramp& ramp, ValueId index, size_t ranks) {
  const auto scalar = [&](int64_t value) {
    return b.scalar(DType::kS32, static_cast<double>(value));
  };
  ValueId value = index;
  if (ramp.slope != 1) value = b.binary(OpCode::kMultiply, value, scalar(ramp.slope));
  if (ramp.offset != 0) value = b.binary(OpCode::kAdd, value, scalar(ramp.offset));
  const int64_t first = ramp.offset;
  const int64_t last = ramp.offset + ramp.slope * (static_cast<int64_t>(ranks) - 1);
  const bool inside = std::min(first, last) >= ramp.low && std::max(first, last) <= ramp.high;
  if (inside) return value;
  return b.value(OpCode::kClamp, {scalar(ramp.low), value, scalar(ramp.high)});
}

}  // namespace

ValueId rank_scalar(Builder& b, const AtomList& axes, const AtomTable& atoms,
                    const std::vector<int64_t>& values, const std::vector<bool>& matters) {
  const bool any = std::find(matters.begin(), matters.end(), true) != matters.end();
  if (!any) return b.scalar(DType::kS32, 0);
  if (const auto same = uniform(values, matters)) {
    return b.scalar(DType::kS32, static_cast<double>(*same));
  }
  const ValueId index = axis_offset(b, axes, atoms, DType::kS32, 1);
  if (const auto ramp = RampFit(values, matters).ramp()) {
    return emit_ramp(b, *ramp, index, values.size());
  }
  const std::vector<int32_t> entries(values.begin(), values.end());
  const ValueId table = b.constant(
      Literal::of(TensorType{DType::kS32, {static_cast<int64_t>(entries.size())}}, entries));
  const ValueId entry = b.value(OpCode::kDynamicSlice, {table, index}, DynamicSliceAttrs{{1}});
  return b.reshape(entry, {});
}

}  // namespace spmd
