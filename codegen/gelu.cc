#include "codegen/gelu.h"

#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>
#include <vector>

#include "support/float_formats.h"

namespace spmd::codegen {
namespace {

const double kLinear = std::sqrt(2 / std::numbers::pi);
constexpr double kCubic = 0.044715;

// Sum of coefficient * x^i t^j g^k by (i, j, k); g is what a gradient is multiplied with.
using Powers = std::array<int, 3>;
using Polynomial = std::map<Powers, double>;
constexpr Powers kOne = {0, 0, 0}, kX = {1, 0, 0}, kX3 = {3, 0, 0}, kT = {0, 1, 0}, kG = {0, 0, 1};
// No more are in either function or on the way there.
constexpr Powers kMostPowers = {6, 4, 1};

std::optional<double> as_constant(const Polynomial& p) {
  if (p.empty()) return 0;
  if (p.size() > 1 || p.begin()->first != kOne) return std::nullopt;
  return p.begin()->second;
}

Polynomial sum(Polynomial a, const Polynomial& b, double scale_of_b) {
  for (const auto& [powers, coefficient] : b) a[powers] += scale_of_b * coefficient;
  std::erase_if(a, [](const auto& term) { return term.second == 0; });
  return a;
}

std::optional<Polynomial> times(const Polynomial& a, const Polynomial& b) {
  Polynomial result;
  for (const auto& [p, left] : a)
    for (const auto& [q, right] : b) {
      Powers powers;
      for (size_t i = 0; i < powers.size(); ++i) {
        powers[i] = p[i] + q[i];
        if (powers[i] > kMostPowers[i]) return std::nullopt;
      }
      result[powers] += left * right;
    }
  return sum({}, result, 1);
}

// Whether `p` is `wanted`: the same terms, but for the tolerance; what is left of terms that cancel
// each other is far below it.
bool is_near(const Polynomial& p, const Polynomial& wanted, double tolerance) {
  constexpr double kNothing = 1e-6;
  for (const auto& [powers, coefficient] : p)
    if (!wanted.contains(powers) && std::abs(coefficient) > kNothing) return false;
  for (const auto& [powers, coefficient] : wanted) {
    const auto found = p.find(powers);
    if (found == p.end() ||
        !(std::abs(found->second - coefficient) <= tolerance * std::abs(coefficient)))
      return false;
  }
  return true;
}

bool is_gelu_float(plan::DType dtype) {
  return dtype == plan::F32 || dtype == plan::BF16 || dtype == plan::F16;
}

// The values of a program's registers as polynomials; nullopt for those that are none.
class Polynomials {
 public:
  // `x` and `g` are registers; g may be -1.
  Polynomials(const plan::ScalarProgram& program, int x, int g, double tolerance)
      : tolerance_(tolerance) {
    const int inputs = program.inputs_size();
    for (int i = 0; i < inputs + program.instructions_size(); ++i) {
      if (i == x) {
        values_.emplace_back(Polynomial{{kX, 1}});
      } else if (i == g) {
        values_.emplace_back(Polynomial{{kG, 1}});
      } else if (i < inputs) {
        values_.emplace_back();
      } else {
        values_.push_back(value_of(program.instructions(i - inputs)));
      }
    }
  }

  const std::optional<Polynomial>& at(int i) const { return values_[static_cast<size_t>(i)]; }

 private:
  std::optional<Polynomial> value_of(const plan::Instruction& instruction) const {
    if (!is_gelu_float(instruction.dtype())) return std::nullopt;
    if (instruction.op() == plan::CONSTANT) {
      const std::optional<double> constant = float_constant(instruction);
      if (!constant || !std::isfinite(*constant)) return std::nullopt;
      return sum({}, {{kOne, *constant}}, 1);
    }
    for (int arg : instruction.args())
      if (!at(arg)) return std::nullopt;
    if (instruction.args_size() == 1) return of_one(instruction.op(), *at(instruction.args(0)));
    if (instruction.args_size() != 2) return std::nullopt;
    return of_two(instruction.op(), *at(instruction.args(0)), *at(instruction.args(1)));
  }

  std::optional<Polynomial> of_one(plan::ScalarOp op, const Polynomial& a) const {
    switch (op) {
      case plan::CONVERT:
        return a;
      case plan::NEGATE:
        return sum({}, a, -1);
      case plan::TANH:
        return tanh_of(a);
      case plan::LOGISTIC: {  // (1 + tanh(a / 2)) / 2
        const std::optional<Polynomial> tanh = tanh_of(sum({}, a, 0.5));
        if (!tanh) return std::nullopt;
        return sum({{kOne, 0.5}}, *tanh, 0.5);
      }
      default:
        return std::nullopt;
    }
  }

  // tanh(r) and, tanh being odd, tanh(-r).
  std::optional<Polynomial> tanh_of(const Polynomial& a) const {
    const Polynomial r = {{kX, kLinear}, {kX3, kLinear * kCubic}};
    if (is_near(a, r, tolerance_)) return Polynomial{{kT, 1}};
    if (is_near(sum({}, a, -1), r, tolerance_)) return Polynomial{{kT, -1}};
    return std::nullopt;
  }

  static std::optional<Polynomial> of_two(plan::ScalarOp op, const Polynomial& a,
                                          const Polynomial& b) {
    switch (op) {
      case plan::ADD:
        return sum(a, b, 1);
      case plan::SUBTRACT:
        return sum(a, b, -1);
      case plan::MULTIPLY:
        return times(a, b);
      case plan::DIVIDE: {
        const std::optional<double> divisor = as_constant(b);
        if (!divisor || *divisor == 0) return std::nullopt;
        return sum({}, a, 1 / *divisor);
      }
      case plan::POWER: {
        const std::optional<double> exponent = as_constant(b);
        if (!exponent || (*exponent != 2 && *exponent != 3)) return std::nullopt;
        std::optional<Polynomial> result = times(a, a);
        return result && *exponent == 3 ? times(*result, a) : result;
      }
      default:
        return std::nullopt;
    }
  }

  double tolerance_;
  std::vector<std::optional<Polynomial>> values_;
};

// g gelu'(x)
Polynomial gradient() {
  const double cubic = 3 * kLinear * kCubic;
  return {{{0, 0, 1}, 0.5},          {{0, 1, 1}, 0.5},       {{1, 0, 1}, kLinear / 2},
          {{1, 2, 1}, -kLinear / 2}, {{3, 0, 1}, cubic / 2}, {{3, 2, 1}, -cubic / 2}};
}

}  // namespace

std::optional<double> float_constant(const plan::Instruction& instruction) {
  const std::string& bytes = instruction.constant();
  const auto read = [&](auto value) {
    if (bytes.size() == sizeof value) std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  switch (instruction.dtype()) {
    case plan::F32:
      return static_cast<double>(read(float{}));
    case plan::BF16:
      return static_cast<double>(bf16_to_float(read(uint16_t{})));
    case plan::F16:
      return static_cast<double>(f16_to_float(read(uint16_t{})));
    default:
      return std::nullopt;
  }
}

std::optional<int> gelu_argument(const plan::ScalarProgram& program, int value, double tolerance) {
  const Polynomial gelu = {{kX, 0.5}, {{1, 1, 0}, 0.5}};
  for (int x = value - 1; x >= 0; --x) {
    const Polynomials polynomials(program, x, -1, tolerance);
    if (polynomials.at(value) && is_near(*polynomials.at(value), gelu, tolerance)) return x;
  }
  return std::nullopt;
}

std::optional<double> gelu_gradient_scale(const plan::ScalarProgram& program, int value, int factor,
                                          int argument, double tolerance) {
  const Polynomials polynomials(program, argument, factor, tolerance);
  const std::optional<Polynomial>& found = polynomials.at(value);
  if (!found || !found->contains(kG)) return std::nullopt;
  const double scale = found->at(kG) / 0.5;
  if (!is_near(sum({}, *found, 1 / scale), gradient(), tolerance)) return std::nullopt;
  return scale;
}

}  // namespace spmd::codegen
