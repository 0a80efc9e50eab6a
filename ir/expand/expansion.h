// Inside expand_ops(): one op that is being rewritten, and the function of each group of ops. Each
// inserts new ops before the op and returns the values that take its results' places.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "ir/builder.h"

namespace spmd::expand {

using Values = std::vector<ValueId>;

class Expansion {
 public:
  Expansion(Module& module, Function& fn, OpId id, int64_t replicas)
      : module(module), fn(fn), id(id), replicas(replicas), b(Builder::before(fn, id)) {
    b.location = op().location;
  }

  const Op& op() const { return fn.op(id); }
  template <typename A>
  const A& attrs() const {
    return op().as<A>();
  }
  ValueId operand(size_t index) const;
  const TensorType& type(ValueId value) const { return fn.type(value); }
  const TensorType& operand_type(size_t index) const { return type(operand(index)); }
  const TensorType& result_type(size_t index = 0) const { return type(op().results[index]); }

  [[noreturn]] void fail(const std::string& fact, const std::string& remedy = {}) const;
  void require(bool condition, const std::string& fact) const {
    if (!condition) fail(fact);
  }
  // The elements of an operand that must be constant integers.
  Dims integers(size_t index, const char* what) const;
  // The result's shape: as stated, or else the constant elements of an operand.
  Dims result_shape(size_t operand_index) const;

  // ---- short forms
  ValueId binary(OpCode code, ValueId lhs, ValueId rhs) { return b.binary(code, lhs, rhs); }
  ValueId unary(OpCode code, ValueId x) { return b.value(code, {x}); }
  // Splats of x's type or shape.
  ValueId like(ValueId x, double value) { return b.splat(type(x), value); }
  ValueId like_bool(ValueId x, bool value) {
    return b.splat(type(x).with_dtype(DType::kBool), value ? 1 : 0);
  }
  ValueId bits_like(ValueId x, uint64_t bits);
  ValueId bitcast(ValueId x, DType dtype);

  Module& module;
  Function& fn;
  const OpId id;
  const int64_t replicas;
  Builder b;
};

// The value of an expression of constants, or nullopt.
std::optional<Literal> constant_value(const Module& module, const Function& fn, ValueId value);

// Gives dynamic result types that follow from the operands' their sizes.
void refine_types(const Module& module, Function& fn, OpId id);

// checks.cc: a count of elements that are not as expected.
bool is_check(OpCode code);
ValueId expand_check(Expansion& e);

Values expand_batch_norm(Expansion& e);
Values expand_broadcast(Expansion& e);
Values expand_implicit_broadcast(Expansion& e);
Values expand_collective(Expansion& e);
Values expand_contraction(Expansion& e);
Values expand_dynamic(Expansion& e);
Values expand_elementwise(Expansion& e);
Values expand_map(Expansion& e);
Values expand_rng(Expansion& e);
Values expand_run_parallel(Expansion& e);
Values expand_torch_index_select(Expansion& e);

}  // namespace spmd::expand
