// Matrix products.
#include <algorithm>
#include <map>

#include "frontends/onnx/ops.h"
#include "frontends/onnx/ops/common.h"
#include "frontends/onnx/ops/contractions.h"
#include "support/error.h"

namespace spmd::onnx {
namespace {

void matmul_op(Node& node) { node.set(0, matmul(node.in(0), node.in(1))); }

void gemm_op(Node& node) { node.set(0, gemm(node)); }

// ---- einsum

// The labels of each operand and of the result; an ellipsis is as many labels, counted from -1 at
// the last dimension, as it stands for.
struct Equation {
  std::vector<std::vector<int>> operands;
  std::vector<int> result;
};

// Letters of one term; the ellipsis is a 0.
std::vector<int> letters_of(Node& node, const std::string& term) {
  std::vector<int> labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const char c = term[i];
    if (c == ' ') continue;
    if (c == '.') {
      node.require(term.compare(i, 3, "...") == 0, "its equation is malformed");
      i += 2;
      labels.push_back(0);
    } else {
      node.require((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'), "its equation is malformed");
      labels.push_back(c);
    }
  }
  return labels;
}

std::vector<int> expanded(const std::vector<int>& labels, int64_t ellipsis) {
  std::vector<int> all;
  for (int label : labels) {
    if (label != 0) all.push_back(label);
    for (int64_t i = label == 0 ? ellipsis : 0; i > 0; --i) all.push_back(static_cast<int>(-i));
  }
  return all;
}

Equation parse_equation(Node& node, const std::vector<Expr>& operands) {
  const std::string text = node.text("equation", "");
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  Equation equation;
  std::map<int, int> uses;
  int64_t widest = 0;
  size_t begin = 0;
  for (const Expr& operand : operands) {
    node.require(begin <= left.size(), "its equation has fewer terms than it has inputs");
    const size_t end = std::min(left.find(',', begin), left.size());
    const std::vector<int> labels = letters_of(node, left.substr(begin, end - begin));
    begin = end + 1;
    const auto ellipses = std::count(labels.begin(), labels.end(), 0);
    const int64_t covered = operand.rank() - static_cast<int64_t>(labels.size()) + ellipses;
    node.require(ellipses <= 1 && covered >= 0 && (ellipses == 1 || covered == 0),
                 "a term of its equation does not fit the input's rank");
    widest = std::max(widest, covered);
    equation.operands.push_back(expanded(labels, covered));
    for (int label : labels) ++uses[label];
  }
  node.require(begin > left.size(), "its equation has more terms than it has inputs");
  if (arrow != std::string::npos) {
    equation.result = expanded(letters_of(node, text.substr(arrow + 2)), widest);
  } else {  // the ellipsis, then what occurs once, in alphabetical order
    equation.result = expanded({0}, widest);
    for (const auto& [label, count] : uses) {
      if (label != 0 && count == 1) equation.result.push_back(label);
    }
  }
  return equation;
}

// A factor of the product: its dimensions, by label.
struct Factor {
  Expr x;
  std::vector<int> labels;

  int64_t find(int label) const {
    const auto found = std::find(labels.begin(), labels.end(), label);
    return found == labels.end() ? -1 : found - labels.begin();
  }
};

// A label that occurs twice in one term takes the diagonal.
Factor with_distinct_labels(Node& node, Factor factor) {
  for (int64_t d = 0; d < factor.x.rank(); ++d) {
    const auto at = static_cast<size_t>(d);
    const int64_t first = factor.find(factor.labels[at]);
    if (first == d) continue;
    node.require(factor.x.dim(first) == factor.x.dim(d), "a diagonal of sizes that differ");
    const TensorType index{DType::kS64, factor.x.shape()};
    const Expr on = equal(iota(factor.x.writer(), index, first), iota(factor.x.writer(), index, d));
    factor.x = sum(select(on, factor.x, 0.0), {d});
    factor.labels.erase(factor.labels.begin() + d);
    --d;
  }
  return factor;
}

// Sums over labels that nobody else needs.
Factor without(Factor factor, const std::function<bool(int)>& needed) {
  Dims dims;
  std::vector<int> labels;
  for (int64_t d = 0; d < factor.x.rank(); ++d) {
    const int label = factor.labels[static_cast<size_t>(d)];
    if (needed(label)) {
      labels.push_back(label);
    } else {
      dims.push_back(d);
    }
  }
  return {sum(factor.x, dims), labels};
}

Factor contract(const Factor& a, const Factor& b, const std::function<bool(int)>& needed) {
  DotAttrs attrs;
  std::vector<int> labels, a_free, b_free;
  Expr x = a.x, y = b.x;
  for (size_t i = 0; i < a.labels.size(); ++i) {
    const int label = a.labels[i];
    const int64_t j = b.find(label);
    const auto d = static_cast<int64_t>(i);
    if (j < 0) {
      a_free.push_back(label);
    } else if (x.dim(d) != y.dim(j)) {  // a size of 1 broadcasts
      Dims shape = x.dim(d) == 1 ? x.shape() : y.shape();
      shape[static_cast<size_t>(x.dim(d) == 1 ? d : j)] = x.dim(d) == 1 ? y.dim(j) : x.dim(d);
      (x.dim(d) == 1 ? x : y) = broadcast_to(x.dim(d) == 1 ? x : y, shape);
    }
    if (j < 0) continue;
    (needed(label) ? attrs.lhs_batch : attrs.lhs_contracting).push_back(d);
    (needed(label) ? attrs.rhs_batch : attrs.rhs_contracting).push_back(j);
    if (needed(label)) labels.push_back(label);
  }
  for (int label : b.labels) {
    if (a.find(label) < 0) b_free.push_back(label);
  }
  labels.insert(labels.end(), a_free.begin(), a_free.end());
  labels.insert(labels.end(), b_free.begin(), b_free.end());
  return {dot(x, y, std::move(attrs)), labels};
}

void einsum(Node& node) {
  const std::vector<Expr> inputs = node.ins();
  const Equation equation = parse_equation(node, inputs);
  const auto needed_after = [&](size_t operand) {
    return [&, operand](int label) {
      const auto has = [&](const std::vector<int>& labels) {
        return std::find(labels.begin(), labels.end(), label) != labels.end();
      };
      if (has(equation.result)) return true;
      for (size_t i = operand + 1; i < equation.operands.size(); ++i) {
        if (has(equation.operands[i])) return true;
      }
      return false;
    };
  };
  Factor product = with_distinct_labels(node, {inputs[0], equation.operands[0]});
  product = without(product, needed_after(0));
  for (size_t i = 1; i < inputs.size(); ++i) {
    Factor next = with_distinct_labels(node, {inputs[i], equation.operands[i]});
    const auto needed = needed_after(i);
    next = without(next, [&](int label) { return needed(label) || product.find(label) >= 0; });
    product = contract(product, next, needed);
    product = without(product, needed);
  }
  Dims permutation;
  for (int label : equation.result) {
    const int64_t d = product.find(label);
    node.require(d >= 0, "its equation's result has a label that no term has");
    permutation.push_back(d);
  }
  node.require(
      static_cast<int64_t>(node.axes(permutation, product.x.rank()).size()) == product.x.rank(),
      "its equation's result repeats a label");
  node.set(0, transpose(product.x, permutation));
}

}  // namespace

Expr gemm(Node& node) {
  Expr a = node.in(0), b = node.in(1);
  node.require(a.rank() == 2 && b.rank() == 2, "its operands are no matrices");
  if (node.flag("transA", false)) a = transpose(a, {1, 0});
  if (node.flag("transB", false)) b = transpose(b, {1, 0});
  const double alpha = node.number("alpha", 1), beta = node.number("beta", 1);
  Expr result = matmul(a, b);
  if (alpha != 1) result = result * alpha;
  if (Expr c = node.in_or_none(2); c && beta != 0) {
    if (beta != 1) c = c * beta;
    result = result + broadcast_to(c, result.shape());
  }
  return result;
}

std::span<const OpHandler> contraction_ops() {
  using enum Accepts;
  static constexpr OpHandler kOps[] = {
      {"Einsum", einsum, kNumbers},
      {"Gemm", gemm_op, kNumbers},
      {"MatMul", matmul_op, kNumbers},
  };
  return kOps;
}

}  // namespace spmd::onnx
