// Small programs for tests of the evaluator: literals, and main() built op by op.
#pragma once

#include <initializer_list>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "ir/builder.h"
#include "ir/evaluator.h"

namespace spmd::testing {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline Literal f32(Dims shape, const std::vector<float>& values) {
  return Literal::of<float>({DType::kF32, std::move(shape)}, values);
}
inline Literal s32(Dims shape, const std::vector<int32_t>& values) {
  return Literal::of<int32_t>({DType::kS32, std::move(shape)}, values);
}
inline Literal s64(Dims shape, const std::vector<int64_t>& values) {
  return Literal::of<int64_t>({DType::kS64, std::move(shape)}, values);
}
inline Literal boolean(Dims shape, const std::vector<uint8_t>& values) {
  return Literal::of<uint8_t>({DType::kBool, std::move(shape)}, values);
}
// 0, 1, 2, ... in row-major order.
inline Literal counting(Dims shape) {
  Literal result({DType::kF32, std::move(shape)});
  for (int64_t i = 0; i < result.type().num_elements(); ++i) {
    result.mutable_as<float>()[i] = static_cast<float>(i);
  }
  return result;
}
// Numbers of any type, each exact in it.
inline Literal numbers(DType dtype, const std::vector<double>& values) {
  Literal result({dtype, {static_cast<int64_t>(values.size())}});
  for (size_t i = 0; i < values.size(); ++i) {
    const Literal element = Literal::splat({dtype, {}}, values[i]);
    std::memcpy(result.mutable_data() + i * element.stored_bytes(), element.data(),
                element.stored_bytes());
  }
  return result;
}

inline std::vector<double> doubles(const Literal& literal) {
  std::vector<double> values;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) {
    values.push_back(literal.as_double(i));
  }
  return values;
}
inline std::vector<int64_t> ints(const Literal& literal) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < literal.type().num_elements(); ++i) values.push_back(literal.as_int(i));
  return values;
}

// A module whose main() takes `arguments` in the order in which they were added.
class Program {
 public:
  Program() : fn(module.function(module.add_function("main"))), b(fn, fn.body()) {}

  ValueId argument(const Literal& value) {
    arguments.push_back(value);
    fn.argument_info.emplace_back();
    return fn.add_block_argument(fn.body(), value.type());
  }
  // A region of `op` whose arguments have the given types; `fill` gets a builder and the arguments
  // and returns the results.
  template <typename Fill>
  void region(OpId op, const std::vector<TensorType>& types, Fill&& fill) {
    const BlockId block = fn.add_region(op);
    std::vector<ValueId> args;
    for (const TensorType& type : types) args.push_back(fn.add_block_argument(block, type));
    Builder inner(fn, block);
    std::vector<ValueId> results = fill(inner, args);
    inner.return_op(std::move(results));
  }
  // Ends main(). Call once.
  void returns(std::vector<ValueId> results) {
    fn.result_info.resize(results.size());
    b.return_op(std::move(results));
  }
  std::vector<Literal> run(std::vector<ValueId> results) {
    returns(std::move(results));
    return evaluate(module, arguments);
  }

  Module module;
  Function& fn;
  Builder b;
  std::vector<Literal> arguments;
};

// The result of one op on literals.
inline Literal apply(OpCode code, const std::vector<Literal>& operands, Attrs attrs = NoAttrs{}) {
  Program p;
  std::vector<ValueId> values;
  for (const Literal& operand : operands) values.push_back(p.argument(operand));
  const ValueId result = p.b.value(code, values, std::move(attrs));
  return p.run({result})[0];
}

// As above where the result type is part of the op.
inline Literal apply_to(OpCode code, const std::vector<Literal>& operands, TensorType type,
                        Attrs attrs = NoAttrs{}) {
  Program p;
  std::vector<ValueId> values;
  for (const Literal& operand : operands) values.push_back(p.argument(operand));
  const OpId op = p.b.create(code, values, {std::move(type)}, std::move(attrs));
  return p.run({p.fn.op(op).results[0]})[0];
}

}  // namespace spmd::testing
