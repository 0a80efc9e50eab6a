// Random compositions of views, kernels, reductions, windows, loops and branches against the
// evaluator.
#include <utility>

#include "ir/builder.h"
#include "ir/verifier.h"
#include "tests/codegen/compiled_cases.h"
#include "tests/codegen/plan_testing.h"

namespace spmd::testing {
namespace {

class Generator {
 public:
  explicit Generator(unsigned seed, bool loops = false)
      : random_(seed),
        loops_(loops),
        fn_(module_.function(module_.add_function("main"))),
        main_(fn_, fn_.body()),
        b_(&main_) {}

  Module run(int ops) {
    for (int i = 0; i < 3; ++i) values_.push_back(argument());
    for (int i = 0; i < ops; ++i) values_.push_back(step());
    std::vector<ValueId> results;
    for (int i = 0; i < 4; ++i) results.push_back(any());
    results.push_back(values_.back());
    fn_.argument_info.resize(fn_.arguments().size());
    fn_.result_info.resize(results.size());
    b_->return_op(std::move(results));
    verify(module_);
    return std::move(module_);
  }

 private:
  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  ValueId any() {  // recent values are likelier
    const auto count = static_cast<int64_t>(values_.size());
    return values_[static_cast<size_t>(
        pick(0, 2) == 0 ? pick(0, count - 1) : pick(std::max<int64_t>(0, count - 4), count - 1))];
  }
  const Dims& shape(ValueId v) { return fn_.type(v).shape; }

  ValueId argument() {
    static const std::vector<Dims> kShapes = {{2, 3, 4}, {6, 4}, {4, 6}, {24}, {2, 12}, {1, 4, 1}};
    return fn_.add_block_argument(fn_.body(),
                                  {DType::kF32, kShapes[static_cast<size_t>(pick(0, 5))]});
  }

  ValueId step() {
    const ValueId x = any();
    const int64_t rank = fn_.type(x).rank();
    switch (pick(0, loops_ ? 16 : 13)) {
      case 0:
        return b_->value(OpCode::kNegate, {x});
      case 1:
        return b_->binary(pick(0, 1) ? OpCode::kAdd : OpCode::kMaximum, x, like(x));
      case 2:
        return b_->binary(OpCode::kSubtract, like(x), x);
      case 3:
        return b_->reshape(x, other_shape(x));
      case 4:
        return transpose(x);
      case 5:
        return rank ? slice(x) : x;
      case 6:
        return rank ? b_->value(OpCode::kReverse, {x}, ReverseAttrs{{pick(0, rank - 1)}}) : x;
      case 7:
        return broadcast(x);
      case 8:
        return rank ? reduce(x) : x;
      case 9:
        return rank ? pad(x) : x;
      case 10:
        return rank ? concatenate(x) : x;
      case 11:
        return rank ? dot(x) : x;
      case 12:
        return rank ? update(x) : x;
      default: {
        if (rank == 0) return b_->scalar(DType::kF32, 0.5);
        return b_->binary(OpCode::kAdd, x, b_->iota(fn_.type(x), pick(0, rank - 1)));
      }
    }
  }

  // A value of x's shape: a known one, a reshaped one, or a constant.
  ValueId like(ValueId x) {
    for (int i = 0; i < 6; ++i) {
      const ValueId y = any();
      if (shape(y) == shape(x)) return y;
      if (fn_.type(y).num_elements() == fn_.type(x).num_elements()) return b_->reshape(y, shape(x));
    }
    return b_->splat(fn_.type(x), 0.25);
  }

  Dims other_shape(ValueId x) {
    Dims result;
    int64_t rest = fn_.type(x).num_elements();
    while (rest > 1) {
      int64_t size = pick(2, 6);
      if (rest % size != 0) size = rest;
      result.push_back(size);
      rest /= size;
      if (pick(0, 4) == 0) result.push_back(1);
    }
    return rest == 0 ? shape(x) : result;
  }

  ValueId transpose(ValueId x) {
    Dims permutation(shape(x).size());
    for (size_t d = 0; d < permutation.size(); ++d) permutation[d] = static_cast<int64_t>(d);
    std::shuffle(permutation.begin(), permutation.end(), random_);
    return b_->transpose(x, permutation);
  }

  ValueId slice(ValueId x) {
    Dims start, limit, stride;
    for (int64_t size : shape(x)) {
      start.push_back(pick(0, size > 1 ? 1 : 0));
      limit.push_back(pick(std::min(size, start.back() + 1), size));
      stride.push_back(pick(1, 2));
    }
    return b_->slice(x, start, limit, stride);
  }

  ValueId broadcast(ValueId x) {
    Dims to, dims;
    for (int64_t size : shape(x)) {
      if (pick(0, 3) == 0 && to.size() < 4) to.push_back(pick(1, 3));
      dims.push_back(static_cast<int64_t>(to.size()));
      to.push_back(size == 1 ? pick(1, 3) : size);
    }
    if (to.empty()) to = {3, 2};
    if (TensorType{DType::kF32, to}.num_elements() > 2000) return x;
    return b_->broadcast(x, to, dims);
  }

  ValueId reduce(ValueId x) {
    const Dims dims = {pick(0, fn_.type(x).rank() - 1)};
    const bool sums = pick(0, 1) == 0;
    const ValueId init = b_->scalar(DType::kF32, sums ? 0 : -1000);
    return b_->reduce(x, init, dims, sums ? OpCode::kAdd : OpCode::kMaximum);
  }

  ValueId pad(ValueId x) {
    Dims low, high, interior;
    for (int64_t size : shape(x)) {
      low.push_back(pick(-1, 1));
      high.push_back(pick(size >= 3 ? -1 : 1, 2));
      interior.push_back(pick(0, 5) == 0 ? 1 : 0);
    }
    if (fn_.type(x).num_elements() > 500) return x;
    return b_->pad(x, b_->scalar(DType::kF32, 3), low, high, interior);
  }

  // Fills a region whose results have the types of `wanted`.
  void region(OpId op, const std::vector<ValueId>& wanted, const std::vector<ValueId>& args) {
    Builder inner(fn_, fn_.op(op).regions.back());
    Builder* const outer = std::exchange(b_, &inner);
    const std::vector<ValueId> outer_values = values_;
    const bool outer_loops = std::exchange(loops_, loops_ && pick(0, 2) == 0);
    values_.insert(values_.end(), args.begin(), args.end());
    for (int64_t i = pick(1, 6); i > 0; --i) values_.push_back(step());
    std::vector<ValueId> results;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const bool known = !args.empty() && pick(0, 5) == 0;
      results.push_back(known ? args[i] : like(wanted[i]));
    }
    last_ = inner.return_op(results);
    values_ = outer_values;
    loops_ = outer_loops;
    b_ = outer;
  }

  ValueId loop() {
    std::vector<ValueId> inits;
    std::vector<TensorType> types;
    for (int64_t i = pick(1, 3); i > 0; --i) inits.push_back(any());
    const std::vector<ValueId> wanted = inits;
    inits.push_back(b_->scalar(DType::kS32, 0));
    for (ValueId init : inits) types.push_back(fn_.type(init));
    const OpId op = b_->create(OpCode::kWhile, inits, types);
    std::vector<ValueId> args[2];
    for (int r = 0; r < 2; ++r) {
      const BlockId block = fn_.add_region(op);
      for (const TensorType& type : types) args[r].push_back(fn_.add_block_argument(block, type));
    }
    Builder condition(fn_, fn_.op(op).regions[0]);
    condition.return_op({condition.compare(CompareDirection::kLt, args[0].back(),
                                           condition.scalar(DType::kS32, 3))});
    const ValueId counter = args[1].back();
    args[1].pop_back();
    region(op, wanted, args[1]);
    Builder end = Builder::before(fn_, last_);
    const ValueId next = end.binary(OpCode::kAdd, counter, end.scalar(DType::kS32, 1));
    std::vector<ValueId> results = fn_.op(last_).operands;
    results.push_back(next);
    fn_.set_operands(last_, results);
    return fn_.op(op)
        .results[static_cast<size_t>(pick(0, static_cast<int64_t>(wanted.size()) - 1))];
  }

  ValueId branch() {
    const std::vector<ValueId> wanted = {any(), any()};
    const ValueId index = b_->scalar(DType::kS32, static_cast<double>(pick(0, 2)));
    const OpId op = b_->create(OpCode::kCase, {index}, {fn_.type(wanted[0]), fn_.type(wanted[1])});
    for (int i = 0; i < 2; ++i) {
      fn_.add_region(op);
      region(op, wanted, {});
    }
    return fn_.op(op).results[static_cast<size_t>(pick(0, 1))];
  }

  ValueId dot(ValueId x) {
    if (fn_.type(x).num_elements() > 100) return x;
    const ValueId scaled = b_->binary(OpCode::kMultiply, x, b_->splat(fn_.type(x), 0.125));
    DotAttrs attrs;
    attrs.lhs_contracting = attrs.rhs_contracting = {pick(0, fn_.type(x).rank() - 1)};
    const ValueId y = like(x);
    for (int64_t d = 0; d < fn_.type(x).rank() && pick(0, 1) == 0; ++d) {
      if (d == attrs.lhs_contracting[0]) continue;
      attrs.lhs_batch.push_back(d);
      attrs.rhs_batch.push_back(d);
    }
    return b_->value(OpCode::kDotGeneral, {scaled, y}, attrs);
  }

  ValueId update(ValueId x) {
    const ValueId part = slice(like(x));
    std::vector<ValueId> operands = {x, part};
    for (size_t d = 0; d < shape(x).size(); ++d)
      operands.push_back(b_->scalar(DType::kS32, static_cast<double>(pick(-1, 2))));
    return b_->value(OpCode::kDynamicUpdateSlice, operands);
  }

  ValueId concatenate(ValueId x) {
    if (fn_.type(x).num_elements() > 500) return x;
    const int64_t dim = pick(0, fn_.type(x).rank() - 1);
    return b_->value(OpCode::kConcatenate, {x, like(x)}, ConcatenateAttrs{dim});
  }

  std::mt19937 random_;
  bool loops_;
  Module module_;
  Function& fn_;
  Builder main_;
  Builder* b_;  // of the block that ops go to
  std::vector<ValueId> values_;
  OpId last_ = OpId::kNone;  // terminator of the region filled last
};

TEST(RandomPrograms, MeanWhatTheEvaluatorSays) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Module module = Generator(seed).run(4 + static_cast<int>(seed % 30));
    expect_meaning(module, 1e-5);
    if (HasFatalFailure()) return;
  }
}

TEST(RandomPrograms, WithLoopsAndBranches) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Module module = Generator(seed, true).run(4 + static_cast<int>(seed % 12));
    expect_meaning(module, 1e-5);
    if (HasFatalFailure()) return;
  }
}

// Values computed again, products in the order in which they are read and with their epilogues.
TEST(RandomPrograms, WithPlansOfGpus) {
  for (unsigned seed = 3000; seed < 3300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Module module = Generator(seed, seed % 3 == 0).run(8 + static_cast<int>(seed % 40));
    std::mt19937 random(seed);
    const std::vector<Literal> arguments = random_arguments(module, random);
    const std::vector<Literal> wanted = run_plan(module, plan_of(module), {arguments})[0];
    const std::vector<Literal> found =
        run_plan(module, gpu_plan_of(module, /*group=*/true), {arguments})[0];
    expect_close(found, wanted, 1e-5);
    if (HasFatalFailure()) return;
  }
}

void expect_with_compiled_kernels(CompiledCases::Dialect dialect, unsigned first, unsigned count) {
  const CompiledCases compiled(dialect, static_cast<int>(count));
  for (unsigned seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Module module = Generator(seed, seed % 2 == 0).run(8 + static_cast<int>(seed % 30));
    expect_meaning(module, 1e-5);
    if (::testing::Test::HasFatalFailure()) return;
  }
}

TEST(RandomPrograms, WithCompiledKernels) {
  expect_with_compiled_kernels(CompiledCases::Dialect::kCpp, 1000, 40);
}

TEST(RandomPrograms, WithKernelsOfTheCudaDialect) {
  expect_with_compiled_kernels(CompiledCases::Dialect::kCuda, 2000, 12);
}

}  // namespace
}  // namespace spmd::testing
