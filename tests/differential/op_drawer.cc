#include "tests/differential/op_drawer.h"

#include <algorithm>

namespace spmd::testing {
namespace {

// Real numbers stay below this, so that functions of them stay finite.
constexpr double kLargestReal = 1e4;

// Ops whose results are exact, or hold elements of their operands.
bool keeps_precision(OpCode code) {
  switch (code) {
    case OpCode::kAbs:
    case OpCode::kNegate:
    case OpCode::kMaximum:
    case OpCode::kMinimum:
    case OpCode::kSelect:
    case OpCode::kClamp:
    case OpCode::kShardingConstraint:
    case OpCode::kOptimizationBarrier:
    case OpCode::kPropagationBarrier:
    case OpCode::kComplex:
    case OpCode::kReal:
    case OpCode::kImag:
      return true;
    default:
      return family_of(code) == OpFamily::kShape || code == OpCode::kGather ||
             code == OpCode::kDynamicSlice || code == OpCode::kDynamicUpdateSlice;
  }
}

// Whether a reduction gives one of the elements that it is of.
bool chooses(const Function& fn, const Op& op) {
  if (op.code != OpCode::kReduce || op.results.size() != 1) return false;
  if (fn.type(op.results[0]).dtype != fn.type(op.operands[0]).dtype) return false;
  const std::optional<OpCode> reducer = reducer_of(fn, op.regions[0]);
  return reducer == OpCode::kMaximum || reducer == OpCode::kMinimum;
}

}  // namespace

const std::vector<OpDrawer::Choice>& OpDrawer::choices() {
  static const std::vector<Choice> kChoices = {
      {&OpDrawer::elementwise, 8, 3},
      {&OpDrawer::binary, 2, 9},
      {&OpDrawer::compare, 1, 1},
      {&OpDrawer::unary, 2, 11},
      {&OpDrawer::bitwise, 1, 8},
      {&OpDrawer::real_function, 3, 13},
      {&OpDrawer::real_pair_function, 1, 4},
      {&OpDrawer::broadcast, 3, 1},
      {&OpDrawer::reshape, 4, 1},
      {&OpDrawer::transpose, 2, 1},
      {&OpDrawer::slice, 3, 1},
      {&OpDrawer::pad, 2, 1},
      {&OpDrawer::concatenate, 3, 1},
      {&OpDrawer::reverse, 1, 1},
      {&OpDrawer::roll, 2, 1},
      {&OpDrawer::bitcast, 1, 1},
      {&OpDrawer::iota, 1, 1},
      {&OpDrawer::reduce, 5, 1},
      {&OpDrawer::reduce_pair, 1, 1},
      {&OpDrawer::reduce_several, 1, 1},
      {&OpDrawer::dot, 6, 1},
      {&OpDrawer::attention, 2, 2},
      {&OpDrawer::convolution, 3, 1},
      {&OpDrawer::reduce_window, 3, 1},
      {&OpDrawer::select_and_scatter, 2, 1},
      {&OpDrawer::dynamic_slice, 2, 1},
      {&OpDrawer::dynamic_update_slice, 2, 1},
      {&OpDrawer::gather, 4, 1},
      {&OpDrawer::scatter, 4, 1},
      {&OpDrawer::sort, 1, 1},
      {&OpDrawer::top_k, 1, 2},
      {&OpDrawer::random_bits, 1, 1},
      {&OpDrawer::loop, 3, 1},
      {&OpDrawer::contraction_loop, 1, 1},
      {&OpDrawer::branch, 1, 2},
      {&OpDrawer::barrier, 1, 1},
      {&OpDrawer::call, 1, 1},
      {&OpDrawer::constraint, 1, 1},
      {&OpDrawer::manual_computation, 1, 1},
      {&OpDrawer::collective, 1, 6},
      {&OpDrawer::fft, 2, 1},
      {&OpDrawer::cholesky, 2, 5},
      {&OpDrawer::triangular_solve, 1, 3},
      {&OpDrawer::complex, 2, 3},
      {&OpDrawer::special_function, 2, 15},
      {&OpDrawer::propagation_barrier, 1, 1},
      {&OpDrawer::sharding_group, 1, 1},
  };
  return kChoices;
}

const OpDrawer::Choice& OpDrawer::preferred(const Setting& setting) {
  const std::vector<Choice>& all = choices();
  int total = 0;
  for (const Choice& choice : all) total += choice.ops;
  int64_t at = setting.op % total;
  size_t choice = 0;
  while (at >= all[choice].ops) at -= all[choice++].ops;
  return all[choice];
}

bool OpDrawer::prefers_real_numbers(const Setting& setting) {
  const Draw draw = preferred(setting).draw;
  return draw == &OpDrawer::real_function || draw == &OpDrawer::real_pair_function ||
         draw == &OpDrawer::attention;
}

ValueId OpDrawer::draw_one() {
  const std::vector<Choice>& all = choices();
  if (random_.chance(35)) return (this->*preferred(setting_).draw)(any());
  if (manual_ != nullptr && random_.chance(40)) return collective(any());
  int total = 0;
  for (const Choice& choice : all) total += choice.weight;
  int64_t at = random_.below(total);
  size_t choice = 0;
  while (at >= all[choice].weight) at -= all[choice++].weight;
  return (this->*all[choice].draw)(any());
}

void OpDrawer::step() {
  for (int attempt = 0; attempt < 20; ++attempt) {
    const ValueId result = draw_one();
    if (result == ValueId::kNone) continue;
    if (random_.chance(20)) constrained(result);
    if (random_.chance(5)) annotate(result);
    if (is_sum(result) && random_.chance(50)) linear_tail(result);
    return;
  }
}

// ---- what is known of values

bool OpDrawer::fits(DType dtype, double bound) const {
  if (!is_float(dtype) && !is_complex(dtype)) return true;
  return bound <= (setting_.whole ? largest_exact(dtype) : std::min(kLargestReal, high_end(dtype)));
}

ValueId OpDrawer::known(ValueId value, double bound) {
  const TensorType& type = this->type(value);
  if (!fits(type.dtype, bound) || type.num_elements() > 4000) return ValueId::kNone;
  return remember(value, bound);
}

ValueId OpDrawer::remember(ValueId value, double bound) {
  if (facts_.contains(value)) return value;  // the builder made nothing new
  Facts facts = facts_of_operands(value);
  const DType dtype = type(value).dtype;
  facts.bound = is_integer(dtype) ? std::min(bound, largest_integer(dtype)) : bound;
  facts_[value] = facts;
  pool_.push_back(value);
  return value;
}

OpDrawer::Facts OpDrawer::facts_of_operands(ValueId value) const {
  Facts facts;
  const Op* op = fn_.def(value);
  if (op == nullptr) return facts;
  const auto look = [&](const Op& at) {
    for (ValueId operand : at.operands) {
      const auto found = facts_.find(operand);
      // What stands between values that are known is made of such values.
      const Facts& known = found != facts_.end() ? found->second : facts_of_operands(operand);
      facts.rough = facts.rough || known.rough;
      facts.varying |= known.varying;
    }
  };
  look(*op);
  for (BlockId region : op->regions) {
    walk(fn_, region, [&](OpId id) { look(fn_.op(id)); });
  }
  if (manual_ == nullptr) facts.varying = 0;
  const DType dtype = type(value).dtype;
  const bool computes = !setting_.whole && (is_float(dtype) || is_complex(dtype));
  if (computes && !keeps_precision(op->code) && !chooses(fn_, *op)) facts.rough = true;
  return facts;
}

// ---- values

ValueId OpDrawer::any() {
  const ValueId x = latest_or_any();
  if (!setting_.has(Circumstance::kUnreduced) || depth_ > 0 || !random_.chance(75)) return x;
  // Not of scalars only, which have no dimension to be placed along.
  TensorType wanted = type(x);
  if (wanted.rank() == 0 && random_.chance(75)) wanted.shape = {size()};
  const bool shorter = wanted.rank() > 1 && random_.chance(50);
  const ValueId reduced = shorter ? partial(x) : partial_like(wanted);
  return reduced != ValueId::kNone ? reduced : x;
}

ValueId OpDrawer::latest_or_any() {
  const auto count = static_cast<int64_t>(pool_.size());
  const int64_t recent = random_.chance(70) ? std::max<int64_t>(0, count - 3) : 0;
  return pool_[static_cast<size_t>(random_.pick(recent, count - 1))];
}

Dims OpDrawer::shape(int64_t rank) {
  Dims shape;
  int64_t elements = 1;
  for (int64_t d = 0; d < rank; ++d) {
    shape.push_back(size());
    while (elements * shape.back() > 400) shape.back() = (shape.back() + 1) / 2;
    elements *= std::max<int64_t>(1, shape.back());
  }
  return shape;
}

// The bounds of passes/equivalence/random_inputs.h.
ValueId OpDrawer::argument(TensorType type) {
  const double bound = type.dtype == DType::kBool ? 1
                       : is_integer(type.dtype)   ? (bit_width(type.dtype) == 4 ? 7 : 14)
                                                  : 3;
  return argument(std::move(type), bound);
}

ValueId OpDrawer::argument(TensorType type, double bound) {
  if (manual_ != nullptr) return manual_argument(type);
  fn_.argument_info.emplace_back();
  const ValueId value = fn_.add_block_argument(fn_.body(), std::move(type));
  if (random_.chance(70)) annotate(value);
  return remember(value, bound);
}

ValueId OpDrawer::scalar(DType dtype, double value) {
  const ValueId result = b_->scalar(dtype, value);
  facts_[result] = {.bound = std::abs(value)};
  return result;
}

// A constant of some kind.
ValueId OpDrawer::source(const TensorType& type) {
  const auto element = [&] {
    return static_cast<double>(type.dtype == DType::kBool ? random_.below(2) : random_.pick(0, 3));
  };
  switch (random_.below(type.rank() == 0 || type.dtype == DType::kBool ? 2 : 4)) {
    case 0:
      return remember(b_->splat(type, element()), 3);
    case 1: {
      Literal literal(type);
      std::byte* out = literal.mutable_data();
      const auto size = static_cast<size_t>(byte_size(type.dtype));
      for (int64_t e = 0; e < type.num_elements(); ++e, out += size) {
        std::memcpy(out, Literal::splat({type.dtype, {}}, element()).data(), size);
      }
      return remember(b_->constant(std::move(literal)), 3);
    }
    case 2: {
      const int64_t dim = random_.below(type.rank());
      return remember(b_->iota(type, dim), static_cast<double>(type.dim(dim)));
    }
    default: {
      const ValueId value = argument({type.dtype, {}});
      return remember(b_->broadcast(value, type.shape, {}), bound(value));
    }
  }
}

ValueId OpDrawer::like(const TensorType& type) {
  std::vector<ValueId> same;
  for (ValueId value : pool_) {
    if (this->type(value) == type) same.push_back(value);
  }
  if (setting_.has(Circumstance::kUnreduced) && depth_ == 0 && random_.chance(20)) {
    const ValueId reduced = partial_like(type);
    if (reduced != ValueId::kNone) return reduced;
  }
  if (!same.empty() && random_.chance(60)) return random_.of(same);
  return random_.chance(65) ? argument(type) : source(type);
}

ValueId OpDrawer::firm_like(const TensorType& type) {
  const ValueId value = like(type);
  return rough(value) ? source(type) : value;
}

ValueId OpDrawer::uniform_like(const TensorType& type) {
  const ValueId value = firm_like(type);
  if (varying(value) == 0) return value;
  return scalar(type.dtype, static_cast<double>(random_.below(2)));
}

std::vector<int64_t> OpDrawer::some_dims(int64_t rank, int64_t at_least) {
  Dims dims;
  for (int64_t d = 0; d < rank; ++d) dims.push_back(d);
  random_.shuffle(dims);
  dims.resize(
      static_cast<size_t>(std::min(rank, random_.pick(at_least, std::max(at_least, rank)))));
  std::sort(dims.begin(), dims.end());
  return dims;
}

}  // namespace spmd::testing
