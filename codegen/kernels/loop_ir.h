// Loop IR: what a compiled kernel does, apart from the language that it is printed in.
//
// A kernel works on an index space of rows x columns. Rows are independent of each other; columns
// are what a row's reductions run over, none in kernels without reductions. What it computes is a
// directed acyclic graph of nodes. A node's value belongs to an element (a row and a column), or is
// one per row. For each row, stages run in order; each is one loop over the columns that computes
// its reductions and stores. A node that several stages need is computed in each of them, unless it
// is kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/type.h"
#include "runtime/plan/plan.pb.h"

namespace spmd::codegen::kernels {

// Strides of an affine index on the two spaces, in elements.
struct Strides {
  Dims rows, columns;
  bool operator==(const Strides&) const = default;
};

// A strided window on memory that args[argument] points to the first element of.
struct Access {
  int argument = -1;
  plan::DType dtype = plan::INVALID;
  Strides strides;
  // Bytes, a power of two of at most 16, that divide the address in every launch.
  int alignment = 1;
  bool writes = false;
};

struct Node {
  enum class Kind : uint8_t {
    kLoad,      // the element of access `access`
    kIota,      // sum of index times stride (`strides`), converted to `dtype`
    kConstant,  // `constant` bytes of one element
    kScalar,    // `op` on `args`, rounded to `dtype`
    kResult     // accumulator `result` of reduction `reduction`
  };
  Kind kind = Kind::kScalar;
  plan::ScalarOp op = plan::NOP;
  plan::DType dtype = plan::INVALID;
  std::vector<int> args;  // earlier nodes
  plan::Comparison comparison = plan::EQ;
  int64_t immediate = 0;
  std::string constant;
  int access = -1;
  Strides strides;
  int reduction = -1, result = -1;

  bool per_row = false;  // does not depend on the column
  int stage = 0;         // the first one in which it can be computed
  // Per element: stored at its first computation in an array of one row, from which later stages
  // read it.
  bool kept = false;
};

// Reduces the columns of each row. Accumulators begin as the nodes `inits` (per row); `program` is
// as in plan.Reduce, after widening: floats of 16 bits accumulate in F32 and are rounded by a
// CONVERT of the result. Its inputs: accumulators, then elements.
struct Reduction {
  plan::ScalarOp op = plan::NOP;  // when one op on one operand is all of the program
  plan::ScalarProgram program;
  std::vector<int> inits, elements;  // nodes
  int stage = 0;
};

struct Store {
  int access = -1;
  int node = -1;  // per row: stored once a row (the access has no column strides but 0)
  int stage = 0;
};

// How rows and columns become loops (C++) or blocks and threads (CUDA).
enum class Mapping : uint8_t {
  kFlat,  // no columns: every row is an element of its own, the innermost dimension vectorised
  kRows,  // reductions run along memory: loops, a warp or a block for each row
  kColumnTiles  // neighbouring rows are neighbours in memory: a tile of the innermost dimension of
                // the rows is vectorised, and the columns are the outer loop
};

struct Kernel {
  Dims rows, columns;  // sizes, from the outermost dimension in; empty: one
  std::vector<Access> accesses;
  std::vector<Node> nodes;  // in topological order
  std::vector<Reduction> reductions;
  std::vector<Store> stores;
  int num_arguments = 0;
  // Sets of arguments, one after the other, for each of which one launch does all of this.
  int members = 1;
  int num_stages = 1;
  Mapping mapping = Mapping::kFlat;

  int64_t num_rows() const { return count(rows); }
  int64_t num_columns() const { return count(columns); }
  static int64_t count(const Dims& sizes) {
    int64_t n = 1;
    for (int64_t size : sizes) n *= size;
    return n;
  }
};

}  // namespace spmd::codegen::kernels
