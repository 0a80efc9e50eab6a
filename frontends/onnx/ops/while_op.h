// What Loop and Scan become.
#pragma once

#include <functional>
#include <vector>

#include "frontends/onnx/importer.h"
#include "frontends/onnx/ops/common.h"

namespace spmd::onnx {

// A while op whose carried values may be added while its body is written.
class WhileOp {
 public:
  WhileOp(Writer& writer, const std::vector<Expr>& initial) : writer_(writer) {
    std::vector<ValueId> operands;
    for (const Expr& value : initial) operands.push_back(value.id());
    op_ = writer.builder().create(OpCode::kWhile, operands);
    condition_ = fn().add_region(op_);
    body_ = fn().add_region(op_);
    for (BlockId region : {condition_, body_}) {
      for (ValueId value : operands) fn().add_block_argument(region, fn().type(value));
    }
  }

  void open_body() { writer_.push(body_); }
  Expr argument(size_t i) { return {writer_, fn().block(body_).args[i]}; }
  // A further carried value: a zero tensor at first. Returns it as the body sees it.
  Expr add_zeros(const TensorType& type) {
    Builder before = Builder::before(fn(), op_);
    std::vector<ValueId> operands = fn().op(op_).operands;
    operands.push_back(before.splat(type, 0));
    fn().set_operands(op_, std::move(operands));
    fn().add_result(op_, type);
    fn().add_block_argument(condition_, type);
    return {writer_, fn().add_block_argument(body_, type)};
  }
  void close_body(const std::vector<Expr>& next) {
    std::vector<ValueId> results;
    for (const Expr& value : next) results.push_back(value.id());
    writer_.builder().return_op(std::move(results));
    writer_.pop();
  }
  // `test` gets the carried values.
  void write_condition(const std::function<Expr(const std::vector<Expr>&)>& test) {
    writer_.push(condition_);
    std::vector<Expr> arguments;
    for (ValueId value : fn().block(condition_).args) arguments.emplace_back(writer_, value);
    writer_.builder().return_op({test(arguments).id()});
    writer_.pop();
  }
  Expr result(size_t i) { return {writer_, fn().op(op_).results[i]}; }
  OpId id() const { return op_; }

 private:
  Function& fn() { return writer_.function(); }

  Writer& writer_;
  OpId op_;
  BlockId condition_, body_;
};

// A value that a loop carries or collects, which must be a tensor.
Expr tensor_of(Node& node, const Value& value);

}  // namespace spmd::onnx
