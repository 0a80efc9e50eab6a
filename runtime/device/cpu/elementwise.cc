#include <algorithm>
#include <cstring>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/device/cpu/tile_program.h"

namespace spmd::cpu {
namespace {

// Tiles over an index space: blocks of rows by columns of its two innermost dimensions. A tile of
// several rows spans all columns, unless some operand runs along the rows, when blocks are square.
struct Tiling {
  explicit Tiling(Iteration& it, size_t num_inputs) {
    const size_t transposed = transposed_dim(it, num_inputs);
    if (transposed < it.rank()) {
      move_before_last(it, transposed);
      rows = std::min<int64_t>(32, it.shape[it.rank() - 2]);
      columns = std::min<int64_t>(kTile / rows, it.shape.back());
    } else {
      join_dims(it);
      if (it.rank() == 0) {
        it.shape.push_back(1);
        for (auto& strides : it.strides) strides.push_back(0);
      }
      columns = std::min(kTile, it.shape.back());
      if (it.rank() > 1 && columns == it.shape.back())
        rows = std::clamp<int64_t>(kTile / columns, 1, it.shape[it.rank() - 2]);
    }
    total_columns = it.shape.back();
    total_rows = it.rank() > 1 ? it.shape[it.rank() - 2] : 1;
  }

  int64_t size() const { return rows * columns; }

  int64_t rows = 1, columns = 1;  // of a whole tile
  int64_t total_rows = 1, total_columns = 1;

 private:
  // A dimension, not the innermost, along which an input lies dense while it jumps along the
  // innermost; rank when there is none.
  static size_t transposed_dim(const Iteration& it, size_t num_inputs) {
    for (size_t d = 0; d + 1 < it.rank(); ++d)
      for (size_t i = 0; i < num_inputs; ++i)
        if (it.stride(i, d) == 1 && it.shape[d] >= 4 && std::abs(it.stride(i, it.rank() - 1)) > 1)
          return d;
    return it.rank();
  }
  static void move_before_last(Iteration& it, size_t dim) {
    const auto move = [&](std::vector<int64_t>& dims) {
      std::rotate(dims.begin() + static_cast<ptrdiff_t>(dim),
                  dims.begin() + static_cast<ptrdiff_t>(dim) + 1, dims.end() - 1);
    };
    move(it.shape);
    for (auto& strides : it.strides) move(strides);
  }
};

class ElementwiseKernel : public Kernel {
 public:
  ElementwiseKernel(const plan::Elementwise& step, LoadContext& context)
      : inputs_(step.inputs().begin(), step.inputs().end()),
        outputs_(step.outputs().begin(), step.outputs().end()),
        it_(iteration(step)),
        tiling_(it_, inputs_.size()),
        program_(step.program(), uniform_inputs(step), tiling_.size(), 0, context),
        odometer_(it_, it_.rank() >= 2 ? it_.rank() - 2 : 0) {
    int64_t workspace = program_.workspace_end();
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (!program_.is_uniform(static_cast<int32_t>(i)))
        loads_.push_back(
            {static_cast<int32_t>(i), TileIo(inputs_[i].dtype, strides_of(i), workspace)});
    for (size_t o = 0; o < outputs_.size(); ++o)
      stores_.push_back({program_.output(static_cast<int>(o)),
                         TileIo(outputs_[o].dtype, strides_of(inputs_.size() + o), workspace)});
    for (size_t i = 0; i < program_.iotas().size(); ++i)
      iotas_.push_back(strides_of(inputs_.size() + outputs_.size() + i));
    scratch_ = workspace;
    context.need_workspace(workspace + kTile * 16);
  }

  void run(const RunContext& context) override {
    program_.bind(context.workspace);
    for (size_t i = 0; i < inputs_.size(); ++i)
      if (program_.is_uniform(static_cast<int32_t>(i)))
        load_element(inputs_[i].dtype, inputs_[i].data(context),
                     program_.at(static_cast<int32_t>(i)));
    program_.run_uniform(tiling_.size());
    odometer_.reset();
    do {
      run_plane(context);
    } while (odometer_.next());
  }

 private:
  struct Operand {
    int32_t reg;
    TileIo io;
  };

  // Operands: inputs, outputs, iotas (whose "memory" is the index along their dimension).
  static Iteration iteration(const plan::Elementwise& step) {
    Iteration it;
    it.shape = plan::dims_of(step.shape());
    for (const plan::View& view : step.inputs())
      it.strides.push_back(plan::dims_of(view.strides()));
    for (const plan::View& view : step.outputs())
      it.strides.push_back(plan::dims_of(view.strides()));
    for (const plan::Instruction& instruction : step.program().instructions()) {
      if (instruction.op() != plan::IOTA) continue;
      it.strides.emplace_back(it.rank(), 0);
      it.strides.back()[static_cast<size_t>(instruction.immediate())] = 1;
    }
    drop_unit_dims(it);
    sort_dims(it, static_cast<size_t>(step.inputs_size()));
    return it;
  }

  std::vector<bool> uniform_inputs(const plan::Elementwise&) const {
    std::vector<bool> uniform;
    for (size_t i = 0; i < inputs_.size(); ++i)
      uniform.push_back(std::all_of(it_.strides[i].begin(), it_.strides[i].end(),
                                    [](int64_t stride) { return stride == 0; }));
    return uniform;
  }

  TileStrides strides_of(size_t operand) const {
    const size_t rank = it_.rank();
    return {rank > 1 ? it_.stride(operand, rank - 2) : 0, it_.stride(operand, rank - 1)};
  }

  // All tiles of the two innermost dimensions.
  void run_plane(const RunContext& context) {
    for (int64_t row = 0; row < tiling_.total_rows; row += tiling_.rows)
      for (int64_t column = 0; column < tiling_.total_columns; column += tiling_.columns)
        run_tile(context, row, column, std::min(tiling_.rows, tiling_.total_rows - row),
                 std::min(tiling_.columns, tiling_.total_columns - column));
  }

  void run_tile(const RunContext& context, int64_t row, int64_t column, int64_t rows,
                int64_t columns) {
    for (Operand& load : loads_) {
      const size_t i = static_cast<size_t>(load.reg);
      const std::byte* from = inputs_[i].data(context) + offset(load.io, i, row, column);
      if (load.io.is_direct(rows, columns)) {
        program_.set(load.reg, from);
      } else {
        program_.set(load.reg, slot(context, load.io));
        load.io.load(from, slot(context, load.io), scratch(context), rows, columns);
      }
    }
    for (size_t i = 0; i < iotas_.size(); ++i) fill_iota(i, row, column, rows, columns);
    for (size_t o = 0; o < stores_.size(); ++o) {
      if (!program_.can_redirect(static_cast<int>(o))) continue;
      if (stores_[o].io.is_direct(rows, columns)) {
        program_.set(stores_[o].reg, target(context, o, row, column));
      } else {
        program_.reset(stores_[o].reg);
      }
    }
    program_.run(rows * columns);
    for (size_t o = 0; o < stores_.size(); ++o) {
      std::byte* to = target(context, o, row, column);
      const void* result = program_.at(stores_[o].reg);
      if (result != to) stores_[o].io.store(result, to, scratch(context), rows, columns);
    }
  }

  // Bytes from the operand's start to a tile.
  int64_t offset(const TileIo& io, size_t operand, int64_t row, int64_t column) const {
    return (odometer_.offset(operand) + row * io.strides().row + column * io.strides().column) *
           io.element_bytes();
  }
  std::byte* target(const RunContext& context, size_t o, int64_t row, int64_t column) const {
    return outputs_[o].data(context) + offset(stores_[o].io, inputs_.size() + o, row, column);
  }
  static std::byte* slot(const RunContext& context, const TileIo& io) {
    return context.workspace + io.slot();
  }
  std::byte* scratch(const RunContext& context) const { return context.workspace + scratch_; }

  void fill_iota(size_t i, int64_t row, int64_t column, int64_t rows, int64_t columns) {
    const TileProgram::Iota& iota = program_.iotas()[i];
    const TileStrides strides = iotas_[i];
    const int64_t first = odometer_.offset(inputs_.size() + outputs_.size() + i) +
                          row * strides.row + column * strides.column;
    auto* out = static_cast<std::byte*>(program_.at(iota.reg));
    const TileLoop loop = loops().iota[static_cast<int>(iota.lane)];
    const int64_t bytes = lane_bytes(iota.lane);
    for (int64_t r = 0; r < rows; ++r) {
      std::byte* line = out + r * columns * bytes;
      loop(line, nullptr, strides.column == 0 ? 1 : columns, first + r * strides.row);
      if (strides.column == 0) broadcast_element(line, bytes, columns);
    }
  }

  std::vector<BoundView> inputs_, outputs_;
  Iteration it_;
  Tiling tiling_;
  TileProgram program_;
  Odometer odometer_;
  std::vector<Operand> loads_, stores_;
  int64_t scratch_ = 0;  // place in the workspace, behind every register and slot
  std::vector<TileStrides> iotas_;
};

class NothingToDo : public Kernel {
 public:
  void run(const RunContext&) override {}
};

// Copies rows, or square blocks where one side is transposed.
class CopyKernel : public Kernel {
 public:
  CopyKernel(const std::vector<int64_t>& shape, BoundView in, BoundView out)
      : in_(std::move(in)), out_(std::move(out)), it_{shape, {in_.strides, out_.strides}} {
    drop_unit_dims(it_);
    sort_dims(it_, 1);
    join_dims(it_);
    if (it_.rank() == 0) it_ = {{1}, {{0}, {0}}};
    const size_t last = it_.rank() - 1;
    for (size_t d = 0; d < last && it_.stride(1, last) == 1 && it_.stride(0, last) != 1; ++d)
      if (it_.stride(0, d) == 1) transposed_ = static_cast<int>(d);
    if (transposed_ >= 0) {
      rows_ = {it_.shape[static_cast<size_t>(transposed_)],
               it_.stride(1, static_cast<size_t>(transposed_))};
      const auto erase = [&](std::vector<int64_t>& dims) {
        dims.erase(dims.begin() + transposed_);
      };
      erase(it_.shape);
      for (auto& strides : it_.strides) erase(strides);
    }
    odometer_ = Odometer(it_, it_.rank() - 1);
    for (int64_t bytes = in_.element_bytes; bytes > 1; bytes /= 2) ++log2_;
  }

  void run(const RunContext& context) override {
    const std::byte* in = in_.data(context);
    std::byte* out = out_.data(context);
    const size_t last = it_.rank() - 1;
    const LoopTable& table = loops();
    odometer_.reset();
    do {
      const std::byte* from = in + odometer_.offset(0) * in_.element_bytes;
      std::byte* to = out + odometer_.offset(1) * in_.element_bytes;
      if (transposed_ >= 0) {
        table.transpose[log2_](to, rows_.stride, from, it_.stride(0, last), rows_.count,
                               it_.shape[last]);
      } else {
        table.copy[log2_](to, it_.stride(1, last), from, it_.stride(0, last), it_.shape[last]);
      }
    } while (odometer_.next());
  }

 private:
  struct Rows {
    int64_t count = 0, stride = 0;
  };
  BoundView in_, out_;
  Iteration it_;
  Odometer odometer_{it_, 0};
  int transposed_ = -1;
  Rows rows_;  // of the transposed dimension; its input stride is 1
  int log2_ = 0;
};

bool is_empty(const std::vector<int64_t>& shape) {
  return std::find(shape.begin(), shape.end(), 0) != shape.end();
}

}  // namespace

KernelPtr make_copy(const std::vector<int64_t>& shape, const BoundView& in, const BoundView& out) {
  if (is_empty(shape)) return std::make_unique<NothingToDo>();
  return std::make_unique<CopyKernel>(shape, in, out);
}

KernelPtr make_elementwise(const plan::Elementwise& step, LoadContext& context) {
  const std::vector<int64_t> shape = plan::dims_of(step.shape());
  if (is_empty(shape)) return std::make_unique<NothingToDo>();
  const bool copies = step.inputs_size() == 1 && step.outputs_size() == 1 &&
                      step.program().instructions_size() == 0 &&
                      step.inputs(0).dtype() == step.outputs(0).dtype();
  if (copies) return make_copy(shape, BoundView(step.inputs(0)), BoundView(step.outputs(0)));
  return std::make_unique<ElementwiseKernel>(step, context);
}

}  // namespace spmd::cpu
