// batch_norm_training, _inference and _grad, as the StableHLO specification defines them.
#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

class BatchNorm {
 public:
  explicit BatchNorm(Expansion& e)
      : e_(e), b_(e.b), x_(e.operand(0)), feature_(e.attrs<BatchNormAttrs>().feature_dim) {
    const TensorType& type = e.operand_type(0);
    e.require(feature_ >= 0 && feature_ < type.rank(),
              fmt::format("feature_index {} is out of range for {}", feature_, to_string(type)));
    e.require(is_float(type.dtype), fmt::format("expected floats, found {}", to_string(type)));
    for (int64_t d = 0; d < type.rank(); ++d) {
      if (d != feature_) others_.push_back(d);
    }
    const int64_t features = type.dim(feature_);
    count_ = features == 0 ? 0 : static_cast<double>(type.num_elements() / features);
    for (size_t i = 1; i < e.op().operands.size(); ++i) check(i, type, features);
  }

  Values inference() {
    return {normalized(e_.operand(1), e_.operand(2), e_.operand(3), e_.operand(4))};
  }

  Values training() {
    const ValueId mean = mean_of(x_);
    const ValueId centered = b_.binary(OpCode::kSubtract, x_, spread(mean));
    const ValueId variance = mean_of(b_.binary(OpCode::kMultiply, centered, centered));
    return {normalized(e_.operand(1), e_.operand(2), mean, variance), mean, variance};
  }

  Values gradient() {
    const ValueId scale = spread(e_.operand(1)), mean = spread(e_.operand(2)),
                  variance = spread(e_.operand(3)), gradient = e_.operand(4);
    const ValueId centered = b_.binary(OpCode::kSubtract, x_, mean);
    const ValueId shifted = b_.binary(OpCode::kAdd, variance, e_.like(x_, epsilon()));
    const ValueId deviation = e_.unary(OpCode::kSqrt, shifted);
    const ValueId normal = b_.binary(OpCode::kDivide, centered, deviation);
    const ValueId count = e_.like(x_, count_);
    const ValueId total = sum_of(gradient);
    const ValueId i1 = b_.binary(OpCode::kMultiply, gradient, count);
    const ValueId i2 = spread(total);
    const ValueId i3 = spread(sum_of(b_.binary(OpCode::kMultiply, gradient, centered)));
    const ValueId i5 =
        b_.binary(OpCode::kDivide, b_.binary(OpCode::kMultiply, i3, centered), shifted);
    const ValueId i6 = b_.binary(OpCode::kSubtract, b_.binary(OpCode::kSubtract, i1, i2), i5);
    const ValueId factor =
        b_.binary(OpCode::kDivide, b_.binary(OpCode::kDivide, scale, deviation), count);
    return {b_.binary(OpCode::kMultiply, factor, i6),
            sum_of(b_.binary(OpCode::kMultiply, gradient, normal)), total};
  }

 private:
  void check(size_t index, const TensorType& type, int64_t features) const {
    const bool whole = e_.op().code == OpCode::kBatchNormGrad && index == 4;
    const TensorType expected = whole ? type : type.with_shape({features});
    const TensorType& found = e_.operand_type(index);
    e_.require(found == expected, fmt::format("operand {} is {}, expected {}", index,
                                              to_string(found), to_string(expected)));
  }
  double epsilon() const { return e_.attrs<BatchNormAttrs>().epsilon; }
  ValueId spread(ValueId by_feature) {
    return b_.broadcast(by_feature, e_.type(x_).shape, {feature_});
  }
  ValueId sum_of(ValueId x) {
    return b_.reduce(x, b_.scalar(e_.type(x).dtype, 0), others_, OpCode::kAdd);
  }
  ValueId mean_of(ValueId x) {
    const ValueId sum = sum_of(x);
    return b_.binary(OpCode::kDivide, sum, e_.like(sum, count_));
  }
  ValueId normalized(ValueId scale, ValueId offset, ValueId mean, ValueId variance) {
    const ValueId centered = b_.binary(OpCode::kSubtract, x_, spread(mean));
    const ValueId shifted = b_.binary(OpCode::kAdd, spread(variance), e_.like(x_, epsilon()));
    const ValueId normal = b_.binary(OpCode::kDivide, centered, e_.unary(OpCode::kSqrt, shifted));
    return b_.binary(OpCode::kAdd, b_.binary(OpCode::kMultiply, spread(scale), normal),
                     spread(offset));
  }

  Expansion& e_;
  Builder& b_;
  ValueId x_;
  int64_t feature_;
  Dims others_;
  double count_ = 0;  // elements per feature
};

}  // namespace

Values expand_batch_norm(Expansion& e) {
  const size_t operands = e.op().code == OpCode::kBatchNormTraining ? 3 : 5;
  e.require(e.op().operands.size() == operands,
            fmt::format("found {} operands, expected {}", e.op().operands.size(), operands));
  BatchNorm norm(e);
  switch (e.op().code) {
    case OpCode::kBatchNormGrad:
      return norm.gradient();
    case OpCode::kBatchNormInference:
      return norm.inference();
    default:
      return norm.training();
  }
}

}  // namespace spmd::expand
