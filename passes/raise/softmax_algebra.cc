#include "passes/raise/softmax_algebra.h"

#include <cmath>

namespace spmd::raise {
namespace {

enum Symbol : size_t { kE, kL, kD, kR };

// Constants of a program are rounded to its types.
bool nearly(double a, double b) { return std::abs(a - b) <= 1e-6 * std::abs(b); }

}  // namespace

SoftmaxExpression SoftmaxExpression::term(double coefficient, Powers powers) {
  SoftmaxExpression result;
  result.add(powers, coefficient);
  return result;
}

double SoftmaxExpression::coefficient(const Powers& powers) const {
  const auto found = terms_.find(powers);
  return found == terms_.end() ? 0 : found->second;
}

void SoftmaxExpression::add(const Powers& powers, double coefficient) {
  const double sum = this->coefficient(powers) + coefficient;
  if (sum == 0) {
    terms_.erase(powers);
  } else {
    terms_[powers] = sum;
  }
}

SoftmaxExpression SoftmaxExpression::plus(const SoftmaxExpression& other, double sign) const {
  SoftmaxExpression result = *this;
  for (const auto& [powers, coefficient] : other.terms_) result.add(powers, sign * coefficient);
  return result;
}

SoftmaxExpression SoftmaxExpression::times(const SoftmaxExpression& other) const {
  SoftmaxExpression result;
  for (const auto& [a, x] : terms_) {
    for (const auto& [b, y] : other.terms_) {
      Powers powers;
      for (size_t i = 0; i < powers.size(); ++i) powers[i] = a[i] + b[i];
      result.add(powers, x * y);
    }
  }
  return result;
}

std::optional<SoftmaxExpression> SoftmaxExpression::over(const SoftmaxExpression& divisor) const {
  if (divisor.terms_.size() != 1) return std::nullopt;
  Powers inverse = divisor.terms_.begin()->first;
  for (int& power : inverse) power = -power;
  return times(term(1 / divisor.terms_.begin()->second, inverse));
}

std::optional<SoftmaxExpression> SoftmaxExpression::summed() const {
  SoftmaxExpression result;
  for (const auto& [term_powers, coefficient] : terms_) {
    Powers powers = term_powers;
    if (powers[kE] != 1 || powers[kD] < 0 || powers[kD] > 1) return std::nullopt;
    ++powers[powers[kD] == 1 ? kR : kL];
    powers[kE] = powers[kD] = 0;
    result.add(powers, coefficient);
  }
  return result;
}

std::optional<double> SoftmaxExpression::constant_value() const {
  for (const auto& [powers, coefficient] : terms_) {
    if (powers != Powers{}) return std::nullopt;
  }
  return coefficient({});
}

bool SoftmaxExpression::vanishes_with_exponential() const {
  for (const auto& [powers, coefficient] : terms_) {
    if (powers[kE] < 1) return false;
  }
  return true;
}

bool SoftmaxExpression::is_probability() const {
  return terms_.size() == 1 && nearly(coefficient({1, -1, 0, 0}), 1);
}

std::optional<double> SoftmaxExpression::score_gradient_factor() const {
  const double factor = coefficient({1, -1, 1, 0});
  const bool fits =
      terms_.size() == 2 && factor != 0 && nearly(coefficient({1, -2, 0, 1}), -factor);
  return fits ? std::optional(factor) : std::nullopt;
}

}  // namespace spmd::raise
