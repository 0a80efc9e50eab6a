// Expr: a value with arithmetic, so that decompositions of ONNX ops read like their formulas.
//
// Operands of the binary functions are broadcast against each other as NumPy does; a double stands
// for a constant of the other side's element type. Every op is written at the Writer's place.
#pragma once

#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "ir/builder.h"

namespace spmd::onnx {

// Where ops are written: the innermost block under construction.
class Writer {
 public:
  explicit Writer(Function& fn) : fn_(fn) { blocks_.emplace_back(fn, fn.body()); }

  Function& function() { return fn_; }
  Builder& builder() { return blocks_.back(); }
  // Between push and pop, ops go to the end of `block`.
  void push(BlockId block);
  void pop() { blocks_.pop_back(); }
  size_t depth() const { return blocks_.size(); }
  // Pops until `depth` blocks are left: back to where something that failed began.
  void unwind(size_t depth) {
    while (blocks_.size() > depth) blocks_.pop_back();
  }
  void set_location(LocationRef location);

 private:
  Function& fn_;
  std::deque<Builder> blocks_;
};

class Expr {
 public:
  Expr() = default;
  Expr(Writer& writer, ValueId id) : writer_(&writer), id_(id) {}

  explicit operator bool() const { return writer_ != nullptr; }
  Writer& writer() const { return *writer_; }
  Builder& builder() const { return writer_->builder(); }
  ValueId id() const { return id_; }
  const TensorType& type() const { return writer_->function().type(id_); }
  DType dtype() const { return type().dtype; }
  const Dims& shape() const { return type().shape; }
  int64_t rank() const { return type().rank(); }
  int64_t dim(int64_t i) const { return type().dim(i); }
  int64_t num_elements() const { return type().num_elements(); }

 private:
  Writer* writer_ = nullptr;
  ValueId id_ = ValueId::kNone;
};

// Another value beside `like`.
inline Expr expr(const Expr& like, ValueId id) { return {like.writer(), id}; }

// ---- constants

Expr constant(Writer& writer, Literal literal);
Expr splat(Writer& writer, TensorType type, double value);
// `value` with the type of `like`.
Expr splat_like(const Expr& like, double value);
Expr integers(Writer& writer, const Dims& values);  // i64, one dimension
Expr iota(Writer& writer, TensorType type, int64_t dim);

// ---- elementwise

// The shape to which both broadcast. Throws UserError, without a place, when there is none.
Dims broadcast_shape(const Dims& a, const Dims& b);
// NumPy's broadcast_to.
Expr broadcast_to(const Expr& x, const Dims& shape);
// Operand dimension i becomes dims[i] of `shape`.
Expr broadcast_in(const Expr& x, Dims shape, Dims dims);
// A scalar or one-dimensional x along dimension `dim` of `shape`.
Expr broadcast_along(const Expr& x, const Dims& shape, int64_t dim);

Expr convert(const Expr& x, DType dtype);
Expr unary(OpCode code, const Expr& x);
Expr binary(OpCode code, const Expr& a, const Expr& b);
Expr binary(OpCode code, const Expr& a, double b);
Expr binary(OpCode code, double a, const Expr& b);
Expr compare(CompareDirection direction, const Expr& a, const Expr& b);
Expr compare(CompareDirection direction, const Expr& a, double b);
Expr select(const Expr& predicate, const Expr& on_true, const Expr& on_false);
Expr select(const Expr& predicate, const Expr& on_true, double on_false);
Expr select(const Expr& predicate, double on_true, const Expr& on_false);

#define SPMD_ONNX_BINARY(name, code)                                                    \
  inline Expr name(const Expr& a, const Expr& b) { return binary(OpCode::code, a, b); } \
  inline Expr name(const Expr& a, double b) { return binary(OpCode::code, a, b); }      \
  inline Expr name(double a, const Expr& b) { return binary(OpCode::code, a, b); }
SPMD_ONNX_BINARY(operator+, kAdd)
SPMD_ONNX_BINARY(operator-, kSubtract)
SPMD_ONNX_BINARY(operator*, kMultiply)
SPMD_ONNX_BINARY(operator/, kDivide)
SPMD_ONNX_BINARY(max, kMaximum)
SPMD_ONNX_BINARY(min, kMinimum)
SPMD_ONNX_BINARY(power, kPower)
SPMD_ONNX_BINARY(remainder, kRemainder)
SPMD_ONNX_BINARY(operator&, kAnd)
SPMD_ONNX_BINARY(operator|, kOr)
#undef SPMD_ONNX_BINARY

#define SPMD_ONNX_COMPARE(name, direction)             \
  inline Expr name(const Expr& a, const Expr& b) {     \
    return compare(CompareDirection::direction, a, b); \
  }                                                    \
  inline Expr name(const Expr& a, double b) { return compare(CompareDirection::direction, a, b); }
SPMD_ONNX_COMPARE(equal, kEq)
SPMD_ONNX_COMPARE(not_equal, kNe)
SPMD_ONNX_COMPARE(less, kLt)
SPMD_ONNX_COMPARE(less_equal, kLe)
SPMD_ONNX_COMPARE(greater, kGt)
SPMD_ONNX_COMPARE(greater_equal, kGe)
#undef SPMD_ONNX_COMPARE

#define SPMD_ONNX_UNARY(name, code) \
  inline Expr name(const Expr& x) { return unary(OpCode::code, x); }
SPMD_ONNX_UNARY(abs, kAbs)
SPMD_ONNX_UNARY(ceil, kCeil)
SPMD_ONNX_UNARY(cosine, kCosine)
SPMD_ONNX_UNARY(erf, kErf)
SPMD_ONNX_UNARY(exp, kExponential)
SPMD_ONNX_UNARY(expm1, kExponentialMinusOne)
SPMD_ONNX_UNARY(floor, kFloor)
SPMD_ONNX_UNARY(is_finite, kIsFinite)
SPMD_ONNX_UNARY(log, kLog)
SPMD_ONNX_UNARY(log1p, kLogPlusOne)
SPMD_ONNX_UNARY(logistic, kLogistic)
SPMD_ONNX_UNARY(operator-, kNegate)
SPMD_ONNX_UNARY(bitwise_not, kNot)
SPMD_ONNX_UNARY(round_even, kRoundNearestEven)
SPMD_ONNX_UNARY(rsqrt, kRsqrt)
SPMD_ONNX_UNARY(sign, kSign)
SPMD_ONNX_UNARY(sine, kSine)
SPMD_ONNX_UNARY(sqrt, kSqrt)
SPMD_ONNX_UNARY(tan, kTan)
SPMD_ONNX_UNARY(tanh, kTanh)
#undef SPMD_ONNX_UNARY

Expr is_nan(const Expr& x);
Expr clamp(double low, const Expr& x, double high);
Expr relu(const Expr& x);

// ---- shape

Expr reshape(const Expr& x, Dims shape);
Expr transpose(const Expr& x, Dims permutation);
// Moves dimension `from` to `to`, the others keeping their order.
Expr move_dim(const Expr& x, int64_t from, int64_t to);
Expr swap_dims(const Expr& x, int64_t a, int64_t b);
// Adds a dimension of size 1 before dimension `at`.
Expr unsqueeze(const Expr& x, int64_t at);
Expr squeeze(const Expr& x, int64_t dim);  // removes a dimension of size 1
// Elements start, start + stride, ... below `limit` of one dimension.
Expr slice_dim(const Expr& x, int64_t dim, int64_t start, int64_t limit, int64_t stride = 1);
Expr pad(const Expr& x, double value, Dims low, Dims high, Dims interior = {});
Expr reverse(const Expr& x, Dims dims);
Expr concatenate(std::span<const Expr> parts, int64_t dim);

// ---- reduction, contraction

// Reduces `dims` by `reducer`; with `keep`, they stay as dimensions of size 1. Narrow integers keep
// their type.
Expr reduce(const Expr& x, Dims dims, OpCode reducer, bool keep = false);
inline Expr sum(const Expr& x, Dims dims, bool keep = false) {
  return reduce(x, std::move(dims), OpCode::kAdd, keep);
}
inline Expr reduce_max(const Expr& x, Dims dims, bool keep = false) {
  return reduce(x, std::move(dims), OpCode::kMaximum, keep);
}
Expr mean(const Expr& x, const Dims& dims, bool keep = false);
Expr softmax(const Expr& x, const Dims& dims);
Expr log_softmax(const Expr& x, const Dims& dims);

Expr dot(const Expr& a, const Expr& b, DotAttrs attrs);
// NumPy's matmul, batch dimensions broadcast.
Expr matmul(const Expr& a, const Expr& b);

// ---- indexing; indices are not negative

// NumPy's take: the index's dimensions take the place of dimension `dim`.
Expr take(const Expr& x, const Expr& indices, int64_t dim);
// result[..., i, ...] = x[..., indices[..., i, ...], ...] along `dim`; other dimensions of
// `indices` may be smaller than those of x.
Expr take_along(const Expr& x, const Expr& indices, int64_t dim);
// The elements of x at index vectors over its first dimensions, which are the last dimension of
// `indices`; the first `batch` dimensions are shared.
Expr gather_nd(const Expr& x, const Expr& indices, int64_t batch = 0);
// Adds `size` where an index is negative.
Expr wrap_indices(const Expr& indices, int64_t size);
// x[start : start + size] along `dim`, `start` a scalar integer.
Expr dynamic_slice_dim(const Expr& x, const Expr& start, int64_t size, int64_t dim);
Expr dynamic_update_dim(const Expr& x, const Expr& update, const Expr& start, int64_t dim);

// ---- control flow

// `carried` after `trips` passes through `body`, which gets the number of the trip (a scalar i32)
// and the values before it.
using LoopBody =
    std::function<std::vector<Expr>(const Expr& trip, const std::vector<Expr>& carried)>;
std::vector<Expr> counted_loop(Writer& writer, int64_t trips, const std::vector<Expr>& carried,
                               const LoopBody& body);

}  // namespace spmd::onnx
