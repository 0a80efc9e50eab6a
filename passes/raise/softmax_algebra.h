// SoftmaxExpression: what a value in the arithmetic of a softmax and its derivative is, however the
// program arranges it.
//
// With e the exponentials of a row of scores, l their sum along the row, d the gradient of the
// probabilities and r the sum of d * e along the row, such a value is a sum of terms
//   coefficient * e^i * l^j * d^k * r^m.
// The probabilities are e / l. The gradient of the scores is e * d / l - e * r / l^2, which is
// JAX's (d / l - sum(d * e / l^2)) * e as well as PyTorch's p * (d - sum(p * d)).
#pragma once

#include <array>
#include <map>
#include <optional>

namespace spmd::raise {

class SoftmaxExpression {
 public:
  static SoftmaxExpression constant(double value) { return term(value, {0, 0, 0, 0}); }
  static SoftmaxExpression exponential() { return term(1, {1, 0, 0, 0}); }
  static SoftmaxExpression gradient() { return term(1, {0, 0, 1, 0}); }

  SoftmaxExpression plus(const SoftmaxExpression& other, double sign = 1) const;
  SoftmaxExpression times(const SoftmaxExpression& other) const;
  // Nullopt unless the divisor is one term.
  std::optional<SoftmaxExpression> over(const SoftmaxExpression& divisor) const;
  // The sum along a row; nullopt when it is not a sum of such terms.
  std::optional<SoftmaxExpression> summed() const;

  // Nullopt for what depends on the row.
  std::optional<double> constant_value() const;
  // Zero wherever the exponential is.
  bool vanishes_with_exponential() const;
  bool is_probability() const;
  // The factor c, when this is c times the gradient of the scores.
  std::optional<double> score_gradient_factor() const;

 private:
  using Powers = std::array<int, 4>;  // of e, l, d, r
  static SoftmaxExpression term(double coefficient, Powers powers);
  double coefficient(const Powers& powers) const;
  void add(const Powers& powers, double coefficient);

  std::map<Powers, double> terms_;
};

}  // namespace spmd::raise
