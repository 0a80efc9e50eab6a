// dot, einsum, unary_einsum and ragged_dot.
#include <algorithm>
#include <string>

#include "ir/expand/expansion.h"
#include "support/error.h"

namespace spmd::expand {
namespace {

bool contains(const std::string& labels, char label) {
  return labels.find(label) != std::string::npos;
}

ValueId typed_dot(Expansion& e, ValueId lhs, ValueId rhs, DotAttrs attrs, DType dtype) {
  Attrs variant = std::move(attrs);
  TensorType type = infer_types(e.fn, OpCode::kDotGeneral, std::vector{lhs, rhs}, variant)[0];
  type.dtype = dtype;
  const OpId id = e.b.create(OpCode::kDotGeneral, {lhs, rhs}, {type}, std::move(variant));
  return e.fn.op(id).results[0];
}

// Vectors and matrices: the last dimension of one with the first of the other.
Values dot(Expansion& e) {
  const TensorType &lhs = e.operand_type(0), &rhs = e.operand_type(1);
  e.require(lhs.rank() >= 1 && lhs.rank() <= 2 && rhs.rank() >= 1 && rhs.rank() <= 2,
            "expected vectors and matrices");
  DotAttrs attrs = e.attrs<DotAttrs>();
  attrs.lhs_contracting = {lhs.rank() - 1};
  attrs.rhs_contracting = {0};
  return {typed_dot(e, e.operand(0), e.operand(1), std::move(attrs), e.result_type().dtype)};
}

// ---- einsum

struct Labelled {
  ValueId value;
  std::string labels;  // one per dimension
};

class Einsum {
 public:
  explicit Einsum(Expansion& e) : e_(e) {
    std::string equation;
    for (char c : e.attrs<EinsumAttrs>().equation) {
      if (c != ' ') equation += c;
    }
    const size_t arrow = equation.find("->");
    const std::string inputs = equation.substr(0, arrow);
    size_t at = 0;
    for (size_t i = 0; i < e.op().operands.size(); ++i) {
      if (at > inputs.size()) malformed("has another number of operands");
      const size_t comma = std::min(inputs.find(',', at), inputs.size());
      terms_.push_back({e.operand(i), with_dots(inputs.substr(at, comma - at), i)});
      at = comma + 1;
    }
    if (at <= inputs.size()) malformed("has another number of operands");
    result_ =
        arrow == std::string::npos ? implied() : with_dots(equation.substr(arrow + 2), kResult);
    for (char label : result_) {
      const bool known = std::any_of(terms_.begin(), terms_.end(), [&](const Labelled& term) {
        return contains(term.labels, label);
      });
      if (!known || std::count(result_.begin(), result_.end(), label) > 1) {
        malformed("has a result whose labels are not the operands'");
      }
    }
  }

  ValueId run() {
    for (Labelled& term : terms_) take_diagonals(term);
    if (terms_.size() == 1) {
      sum_out(terms_[0], result_);
      return ordered(terms_[0]);
    }
    sum_out(terms_[0], result_ + terms_[1].labels);
    sum_out(terms_[1], result_ + terms_[0].labels);
    return ordered(product());
  }

 private:
  static constexpr size_t kResult = static_cast<size_t>(-1);

  [[noreturn]] void malformed(const std::string& what) const {
    e_.fail(fmt::format("the equation \"{}\" {}", e_.attrs<EinsumAttrs>().equation, what));
  }

  // Dimensions that "..." stands for get digits, aligned at their end.
  std::string with_dots(std::string labels, size_t operand) {
    const size_t dots = labels.find("...");
    const bool is_result = operand == kResult;
    std::string filled;
    if (dots != std::string::npos) {
      const size_t rank = is_result ? dots_ : e_.operand_type(operand).shape.size();
      const size_t named = labels.size() - 3;
      const size_t count = is_result ? dots_ : rank - named;
      if (!is_result && (named > rank || count > 9)) malformed("does not fit its operands");
      dots_ = std::max(dots_, count);
      for (size_t i = count; i > 0; --i) filled += static_cast<char>('0' + i);
      labels.replace(dots, 3, filled);
    }
    for (char c : labels) {
      const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
      if (!letter && !contains(filled, c)) malformed(fmt::format("contains '{}'", c));
    }
    if (!is_result && labels.size() != e_.operand_type(operand).shape.size()) {
      malformed(fmt::format("has not one label per dimension of operand {}", operand));
    }
    return labels;
  }

  // Without a result: labels that occur once, in alphabetical order.
  std::string implied() const {
    std::string all, once;
    for (const Labelled& term : terms_) all += term.labels;
    std::sort(all.begin(), all.end());
    for (char label : all) {
      const bool dots = label >= '1' && label <= '9';
      if ((dots && !contains(once, label)) || std::count(all.begin(), all.end(), label) == 1) {
        once += label;
      }
    }
    return once;
  }

  void check_sizes(const std::string& a, const Dims& sizes) {
    for (size_t d = 0; d < a.size(); ++d) {
      const size_t first = a.find(a[d]);
      if (sizes[first] != sizes[d]) malformed("gives one label to dimensions of different sizes");
    }
  }

  // A label that occurs twice in an operand means its diagonal.
  void take_diagonals(Labelled& term) {
    check_sizes(term.labels, e_.type(term.value).shape);
    for (size_t d = 0; d < term.labels.size(); ++d) {
      const size_t again = term.labels.find(term.labels[d], d + 1);
      if (again == std::string::npos) continue;
      const TensorType type = e_.type(term.value);
      const TensorType index{DType::kS64, type.shape};
      const ValueId on_diagonal =
          e_.b.compare(CompareDirection::kEq, e_.b.iota(index, static_cast<int64_t>(d)),
                       e_.b.iota(index, static_cast<int64_t>(again)));
      term.value = e_.b.select(on_diagonal, term.value, e_.b.splat(type, 0));
      sum(term, again);
      --d;  // it may occur a third time
    }
  }

  void sum(Labelled& term, size_t dim) {
    const ValueId zero = e_.b.scalar(e_.type(term.value).dtype, 0);
    term.value = e_.b.reduce(term.value, zero, {static_cast<int64_t>(dim)}, OpCode::kAdd);
    term.labels.erase(dim, 1);
  }

  void sum_out(Labelled& term, const std::string& kept) {
    for (size_t d = term.labels.size(); d-- > 0;) {
      if (!contains(kept, term.labels[d])) sum(term, d);
    }
  }

  Labelled product() {
    const Labelled &lhs = terms_[0], &rhs = terms_[1];
    DotAttrs attrs;
    std::string labels;
    for (size_t d = 0; d < lhs.labels.size(); ++d) {
      const size_t other = rhs.labels.find(lhs.labels[d]);
      if (other == std::string::npos) continue;
      const bool batch = contains(result_, lhs.labels[d]);
      (batch ? attrs.lhs_batch : attrs.lhs_contracting).push_back(static_cast<int64_t>(d));
      (batch ? attrs.rhs_batch : attrs.rhs_contracting).push_back(static_cast<int64_t>(other));
      if (batch) labels += lhs.labels[d];
    }
    for (const auto& [own, others] :
         {std::pair(lhs.labels, rhs.labels), std::pair(rhs.labels, lhs.labels)}) {
      for (char label : own) {
        if (!contains(others, label)) labels += label;
      }
    }
    return {typed_dot(e_, lhs.value, rhs.value, std::move(attrs), e_.result_type().dtype), labels};
  }

  ValueId ordered(const Labelled& term) {
    Dims permutation;
    bool moved = false;
    for (char label : result_) {
      permutation.push_back(static_cast<int64_t>(term.labels.find(label)));
      moved = moved || permutation.back() + 1 != static_cast<int64_t>(permutation.size());
    }
    return moved ? e_.b.transpose(term.value, permutation) : term.value;
  }

  Expansion& e_;
  std::vector<Labelled> terms_;
  std::string result_;
  size_t dots_ = 0;
};

// ---- ragged_dot

// Rows of the ragged dimension belong to groups: group g has the rows from the sum of the sizes
// before it on. Masks pick each group's part, and a dot over an added group dimension does the
// rest: for ragged rows (mode 1), m[g, row] * lhs times rhs[g] summed over groups.
Values ragged_dot(Expansion& e) {
  const auto& attrs = e.attrs<RaggedDotAttrs>();
  const TensorType lhs = e.operand_type(0), rhs = e.operand_type(1), sizes = e.operand_type(2);
  e.require(attrs.lhs_ragged.size() == 1 && sizes.rank() == 1 && is_integer(sizes.dtype),
            "one ragged dimension and a vector of group sizes are supported");
  const int64_t ragged = attrs.lhs_ragged[0], groups = sizes.dim(0);
  e.require(ragged >= 0 && ragged < lhs.rank(), "the ragged dimension is out of range");
  const auto in = [&](const Dims& dims) {
    return std::find(dims.begin(), dims.end(), ragged) != dims.end();
  };
  e.require(!in(attrs.dot.lhs_batch), "a ragged batch dimension is not supported");
  const bool contracted = in(attrs.dot.lhs_contracting);
  e.require(attrs.rhs_group.size() == (contracted ? 0u : 1u),
            "the right-hand side has another number of group dimensions");

  // inside[g, row]: start[g] <= row < start[g] + size[g].
  const Dims grid = {groups, lhs.dim(ragged)};
  const TensorType index{DType::kS64, grid};
  const ValueId size = e.b.convert(e.operand(2), DType::kS64);
  const TensorType square{DType::kS64, {groups, groups}};
  const ValueId before =
      e.b.compare(CompareDirection::kLt, e.b.iota(square, 1), e.b.iota(square, 0));
  const ValueId earlier =
      e.b.select(before, e.b.broadcast(size, {groups, groups}, {1}), e.b.splat(square, 0));
  const ValueId start = e.b.reduce(earlier, e.b.scalar(DType::kS64, 0), {1}, OpCode::kAdd);
  const ValueId end = e.binary(OpCode::kAdd, start, size);
  const ValueId row = e.b.iota(index, 1);
  const ValueId inside = e.binary(
      OpCode::kAnd, e.b.compare(CompareDirection::kGe, row, e.b.broadcast(start, grid, {0})),
      e.b.compare(CompareDirection::kLt, row, e.b.broadcast(end, grid, {0})));

  // lhs with the group dimension in front, zero outside of each group.
  Dims shape = lhs.shape, dims;
  shape.insert(shape.begin(), groups);
  for (int64_t d = 0; d < lhs.rank(); ++d) dims.push_back(d + 1);
  const ValueId spread = e.b.broadcast(e.operand(0), shape, dims);
  const ValueId mask = e.b.broadcast(inside, shape, {0, ragged + 1});
  const ValueId masked = e.b.select(mask, spread, e.b.splat(e.type(spread), 0));

  DotAttrs dot = attrs.dot;
  for (Dims* list : {&dot.lhs_batch, &dot.lhs_contracting}) {
    for (int64_t& dim : *list) ++dim;
  }
  if (!contracted) {
    dot.lhs_contracting.insert(dot.lhs_contracting.begin(), 0);
    dot.rhs_contracting.insert(dot.rhs_contracting.begin(), attrs.rhs_group[0]);
    return {typed_dot(e, masked, e.operand(1), std::move(dot), e.result_type().dtype)};
  }
  // Groups are a dimension of the result: a free dimension of the left-hand side, which comes after
  // the batch dimensions; the result wants it first.
  const auto batch = static_cast<int64_t>(dot.lhs_batch.size());
  const ValueId product = typed_dot(e, masked, e.operand(1), std::move(dot), e.result_type().dtype);
  if (batch == 0) return {product};
  Dims permutation = {batch};
  for (int64_t d = 0; d < e.type(product).rank(); ++d) {
    if (d != batch) permutation.push_back(d);
  }
  return {e.b.transpose(product, permutation)};
}

}  // namespace

Values expand_contraction(Expansion& e) {
  switch (e.op().code) {
    case OpCode::kDot:
      return dot(e);
    case OpCode::kRaggedDot:
      return ragged_dot(e);
    default:
      return {Einsum(e).run()};
  }
}

}  // namespace spmd::expand
