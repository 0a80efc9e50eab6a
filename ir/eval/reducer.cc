#include "ir/eval/reducer.h"

#include <cstring>

#include "ir/builder.h"
#include "ir/eval/elements.h"
#include "ir/eval/scalar_ops.h"

namespace spmd::eval {
namespace {

template <typename T, typename F>
void combine_rows(const Dims& shape, T* acc, const View& acc_view, const T* x, const View& x_view,
                  F&& f) {
  const int64_t length = shape.back();
  const int64_t acc_step = acc_view.strides.back(), x_step = x_view.strides.back();
  for_each_row(shape, acc_view, x_view, [&](int64_t acc_at, int64_t x_at) {
    T* to = acc + acc_at;
    const T* from = x + x_at;
    if (acc_step == 0) {
      T sum = *to;
      for (int64_t i = 0; i < length; ++i) sum = f(sum, from[i * x_step]);
      *to = sum;
    } else if (acc_step == 1 && x_step == 1) {
      for (int64_t i = 0; i < length; ++i) to[i] = f(to[i], from[i]);
    } else {
      for (int64_t i = 0; i < length; ++i) {
        to[i * acc_step] = f(to[i * acc_step], from[i * x_step]);
      }
    }
  });
}

template <typename T>
void combine_typed(OpCode code, DType dtype, const Dims& shape, Literal& acc, const View& acc_view,
                   const Literal& x, const View& x_view) {
  const auto with = [&]<typename F>(F) {
    combine_rows(shape, acc.mutable_as<T>(), acc_view, x.as<T>(), x_view,
                 [dtype](T a, T b) { return wrap_to(dtype, F::apply(a, b)); });
  };
  switch (code) {
    case OpCode::kAdd:
      return with(AddOp());
    case OpCode::kMultiply:
      return with(MultiplyOp());
    case OpCode::kMaximum:
      return with(MaximumOp());
    case OpCode::kMinimum:
      return with(MinimumOp());
    case OpCode::kAnd:
      return with(AndOp());
    case OpCode::kOr:
      return with(OrOp());
    case OpCode::kXor:
      return with(XorOp());
    default:
      SPMD_UNREACHABLE("{} has no reduction loop", name_of(code));
  }
}

}  // namespace

Reducer::Reducer(const Invocation& in, BlockId region) : Reducer(in.fn, region, in.call_region) {}

Reducer::Reducer(const Function& fn, BlockId region, const RegionCall& call_region)
    : region_(region), call_region_(call_region) {
  const Block& block = fn.block(region);
  for (size_t i = 0; i < block.args.size() / 2; ++i) types_.push_back(fn.type(block.args[i]).dtype);
  if (types_.size() != 1) return;
  const std::optional<OpCode> code = reducer_of(fn, region);
  if (code) op_ = types_[0] == DType::kBool ? boolean_meaning(*code) : *code;
  forwards_update_ = block.first == block.last && fn.op(block.last).operands[0] == block.args[1];
}

Literal Reducer::widened(const Literal& value, size_t i) const {
  return convert(value, op_ ? accumulation_type(types_[i]) : types_[i]);
}

Literal Reducer::accumulator(const Literal& init, const Dims& shape, size_t i) const {
  const Literal wide = widened(init, i);
  return Literal::splat(wide.type().with_shape(shape), static_cast<const void*>(wide.data()))
      .expanded();
}

Literal Reducer::finished(const Literal& accumulator, DType result) {
  return convert(accumulator, result);
}

void Reducer::combine(Dims shape, std::span<Literal> acc, View acc_view, std::span<const Literal> x,
                      View x_view) const {
  if (forwards_update_) {
    copy_elements(std::move(shape), byte_size(x[0].type().dtype), x[0].data(), std::move(x_view),
                  acc[0].mutable_data(), std::move(acc_view));
    return;
  }
  coalesce(shape, acc_view, x_view);
  if (!op_) return combine_by_calls(shape, acc, acc_view, x, x_view);
  with_type(acc[0].type().dtype, [&]<typename T>(std::type_identity<T>) {
    combine_typed<T>(*op_, types_[0], shape, acc[0], acc_view, x[0], x_view);
  });
}

void Reducer::combine_by_calls(const Dims& shape, std::span<Literal> acc, const View& acc_view,
                               std::span<const Literal> x, const View& x_view) const {
  const size_t n = types_.size();
  const auto scalar_at = [](const Literal& literal, int64_t index, DType dtype) {
    return Literal::splat({dtype, {}},
                          static_cast<const void*>(literal.data() + index * byte_size(dtype)));
  };
  for (Literal& accumulator : acc) accumulator.mutable_data();  // expands splats
  for_each_row(shape, acc_view, x_view, [&](int64_t acc_row, int64_t x_row) {
    for (int64_t i = 0; i < shape.back(); ++i) {
      const int64_t acc_at = acc_row + i * acc_view.strides.back();
      const int64_t x_at = x_row + i * x_view.strides.back();
      Literals arguments;
      for (size_t k = 0; k < n; ++k) arguments.push_back(scalar_at(acc[k], acc_at, types_[k]));
      for (size_t k = 0; k < n; ++k) arguments.push_back(scalar_at(x[k], x_at, types_[k]));
      const Literals results = call_region_(region_, std::move(arguments));
      for (size_t k = 0; k < n; ++k) {
        const size_t size = static_cast<size_t>(byte_size(types_[k]));
        std::memcpy(acc[k].mutable_data() + acc_at * byte_size(types_[k]), results[k].data(), size);
      }
    }
  });
}

}  // namespace spmd::eval
