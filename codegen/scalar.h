// Scalar expressions: what a kernel computes for each element.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "codegen/views.h"
#include "ir/module.h"

namespace spmd::codegen {

// A node of an expression; `args` are earlier nodes.
struct Node {
  enum class Kind : uint8_t {
    kLoad,   // the element of leaf `leaf`
    kIota,   // the element's offset in leaf `leaf`, a view on no storage, as a number
    kScalar  // `op` on `args`
  };
  Kind kind = Kind::kScalar;
  plan::ScalarOp op = plan::NOP;
  DType dtype = DType::kF32;
  std::array<int, 3> args = {-1, -1, -1};
  int leaf = -1;
  plan::Comparison comparison = plan::EQ;
  int64_t immediate = 0;
  std::string constant;

  bool is_constant() const { return kind == Kind::kScalar && op == plan::CONSTANT; }
};

// A directed acyclic graph over leaves; its value is the last node's.
struct Expr {
  std::vector<Node> nodes;
  std::vector<View> leaves;
};

// Appends `part`'s nodes to `expr`; returns the number of its value there.
int append(Expr& expr, const Expr& part);

Expr load_expr(const View& view);
Expr constant_expr(const Literal& scalar);
Expr iota_expr(const TensorType& type, int64_t dim);

// The node that an elementwise op is, on argument nodes given by operand.
Node scalar_node(const Op& op, DType result, const std::vector<int>& args);
// Whether the op costs more than a few machine instructions.
bool is_expensive(plan::ScalarOp op);

// The single binary op that a reducer region consists of, where the plan has a name for it.
plan::ScalarOp named_reducer(const Function& fn, BlockId region);
// A region of straight-line scalar code as a program from its arguments to its results. `owner` is
// the op it belongs to. Throws UserError for anything else.
plan::ScalarProgram region_program(const Function& fn, BlockId region, const Op& owner);

// "name (file:line)", or the op's name when its place is unknown.
std::string place_of(const Op& op);

}  // namespace spmd::codegen
