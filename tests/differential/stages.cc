#include "tests/differential/stages.h"

#include <fmt/format.h>

#include "ir/evaluator.h"
#include "passes/partition/shards.h"
#include "passes/pipeline.h"
#include "support/error.h"
#include "tests/differential/random_program.h"

namespace spmd::testing {
namespace {

// What stands in padding: far from what the programs compute with, and no valid index.
double poison(DType dtype) { return dtype == DType::kBool ? 1 : is_float(dtype) ? 70001 : 1 << 20; }

// `literal` in the low corner of a tensor of another shape.
Literal resized(const Literal& literal, const Dims& shape) {
  if (literal.type().shape == shape) return literal;
  const TensorType type = literal.type().with_shape(shape);
  const Literal from = literal.expanded();
  Literal to = Literal::splat(type, poison(type.dtype)).expanded();
  std::byte* out = to.mutable_data();
  const auto size = static_cast<size_t>(byte_size(type.dtype));
  const Dims from_strides = row_major_strides(from.type().shape);
  const Dims strides = row_major_strides(shape);
  for (int64_t e = 0; e < type.num_elements(); ++e) {
    int64_t rest = e, at = 0;
    bool inside = true;
    for (size_t d = 0; d < shape.size(); ++d) {
      const int64_t index = rest / strides[d];
      rest %= strides[d];
      inside = inside && index < from.type().shape[d];
      at += index * from_strides[d];
    }
    if (!inside) continue;
    std::memcpy(out + static_cast<size_t>(e) * size, from.data() + static_cast<size_t>(at) * size,
                size);
  }
  return to;
}

// One module with global meaning, whose types may be padded.
std::vector<Literal> evaluate_padded(const Module& module, const std::vector<Literal>& inputs) {
  const Function& main = module.main();
  std::vector<Literal> padded;
  for (size_t i = 0; i < inputs.size(); ++i) {
    padded.push_back(resized(inputs[i], main.type(main.arguments()[i]).shape));
  }
  std::vector<Literal> results = evaluate(module, padded);
  for (size_t i = 0; i < results.size(); ++i) {
    const std::optional<Dims>& shape = main.result_info[i].global_shape;
    if (shape) results[i] = resized(results[i], *shape);
  }
  return results;
}

// Where the first difference is; empty when there is none. Zeros of either sign are equal.
std::string difference(const std::vector<Literal>& expected, const std::vector<Literal>& found) {
  for (size_t i = 0; i < expected.size(); ++i) {
    if (expected[i].type() != found[i].type()) {
      return fmt::format("result {} has type {}, expected {}", i, to_string(found[i].type()),
                         to_string(expected[i].type()));
    }
    for (int64_t e = 0; e < expected[i].type().num_elements(); ++e) {
      const double a = expected[i].as_double(e), b = found[i].as_double(e);
      if (a == b || (a != a && b != b)) continue;
      return fmt::format("result {} element {} is {}, expected {}", i, e, b, a);
    }
  }
  return {};
}

struct Mismatch {
  std::string what;
};

}  // namespace

std::optional<StageFailure> check_stages(const Module& module, uint64_t seed,
                                         const Inspect& inspect) {
  const std::vector<Literal> inputs = exact_inputs(module, seed);
  std::string stage = "evaluate";
  try {
    const std::vector<Literal> expected = evaluate(module, inputs);
    PassContext context;
    context.options.verify_each = true;
    PipelineOptions options;
    bool localized = false;
    int passes = 0;
    options.on_pass = [&](const Pass& pass, size_t, size_t) {
      stage = fmt::format("{} ({})", pass.name, ++passes);
    };
    options.after_pass = [&](const Pass& pass, const Module& after) {
      localized = localized || pass.name == "localize";
      const std::vector<Literal> found =
          localized ? evaluate_partitioned(after, inputs) : evaluate_padded(after, inputs);
      if (const std::string where = difference(expected, found); !where.empty()) {
        throw Mismatch{where};
      }
      if (inspect) inspect(pass.name, after);
    };
    Module changing = module.clone();
    run_passes(changing, compile_pipeline(context.options), context, options);
  } catch (const Mismatch& mismatch) {
    return StageFailure{stage, mismatch.what};
  } catch (const std::exception& error) {
    return StageFailure{stage, error.what()};
  }
  return std::nullopt;
}

}  // namespace spmd::testing
