#include <algorithm>
#include <cstring>
#include <set>

#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/kernel.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/device/cpu/tile_program.h"
#include "runtime/plan/reducer.h"
#include "support/error.h"

namespace spmd::cpu {
namespace {

// A reduction's index space, split into the dimensions that stay (operands: the inputs, then the
// outputs) and those that go (operands: the inputs).
struct Space {
  explicit Space(const plan::Reduce& step) {
    const std::set<int64_t> gone(step.dims().begin(), step.dims().end());
    const auto n = static_cast<size_t>(step.inputs_size());
    kept.strides.resize(2 * n);
    reduced.strides.resize(n);
    int next = 0;
    for (int d = 0; d < step.shape_size(); ++d) {
      Iteration& it = gone.count(d) ? reduced : kept;
      it.shape.push_back(step.shape(d));
      for (size_t i = 0; i < n; ++i) {
        it.strides[i].push_back(step.inputs(static_cast<int>(i)).strides(d));
        if (!gone.count(d))
          kept.strides[n + i].push_back(step.outputs(static_cast<int>(i)).strides(next));
      }
      if (!gone.count(d)) ++next;
    }
    for (Iteration* it : {&kept, &reduced}) {
      drop_unit_dims(*it);
      sort_dims(*it, 0);
      join_dims(*it);
      if (it->rank() > 0) continue;
      it->shape.push_back(1);
      for (auto& strides : it->strides) strides.push_back(0);
    }
  }
  Iteration kept, reduced;
};

TileStrides line(const Iteration& it, size_t operand) {
  return {0, it.stride(operand, it.rank() - 1)};
}

// For reductions by one op along the input's dense dimension: each row becomes one number.
class RowReduce : public Kernel {
 public:
  RowReduce(const plan::Reduce& step, Space space, TileReduction reduction, LoadContext& context)
      : in_(step.inputs(0)),
        init_(step.inits(0)),
        out_(step.outputs(0)),
        space_(std::move(space)),
        rows_(space_.kept, space_.kept.rank()),
        lines_(space_.reduced, space_.reduced.rank() - 1),
        length_(space_.reduced.shape.back()),
        io_(in_.dtype, line(space_.reduced, 0), workspace_),
        reduce_(reduction) {
    context.need_workspace(workspace_ + kTile * 16);
  }

  void run(const RunContext& context) override {
    alignas(16) std::byte init[16], total[16];
    load_element(init_.dtype, init_.data(context), init);
    const std::byte* in = in_.data(context);
    std::byte* out = out_.data(context);
    rows_.reset();
    do {
      std::memcpy(total, init, sizeof total);
      lines_.reset();
      do {
        reduce_line(context, in + (rows_.offset(0) + lines_.offset(0)) * in_.element_bytes, total);
      } while (lines_.next());
      store_element(out_.dtype, total, out + rows_.offset(1) * out_.element_bytes);
    } while (rows_.next());
  }

 private:
  void reduce_line(const RunContext& context, const std::byte* from, std::byte* total) {
    if (io_.is_direct(1, length_)) return reduce_(total, from, length_);
    for (int64_t begin = 0; begin < length_; begin += kTile) {
      const int64_t n = std::min(kTile, length_ - begin);
      io_.load(from + begin * io_.strides().column * in_.element_bytes, context.workspace,
               context.workspace + workspace_, 1, n);
      reduce_(total, context.workspace, n);
    }
  }

  BoundView in_, init_, out_;
  Space space_;
  Odometer rows_, lines_;
  int64_t length_;
  int64_t workspace_ = 0;
  TileIo io_;
  TileReduction reduce_;
};

// Accumulates tiles of neighbouring outputs, one step of the reduced dimensions at a time, in
// order.
class ColumnReduce : public Kernel {
 public:
  ColumnReduce(const plan::Reduce& step, Space space, LoadContext& context)
      : space_(std::move(space)),
        columns_(space_.kept, space_.kept.rank() - 1),
        steps_(space_.reduced, space_.reduced.rank()),
        length_(space_.kept.shape.back()),
        tile_(std::min(kTile, length_)),
        program_(plan::accumulating_program(step.op(), step.program(), step.inputs(0).dtype()),
                 std::vector<bool>(static_cast<size_t>(2 * step.inputs_size())), tile_, 0,
                 context) {
    int64_t workspace = program_.workspace_end();
    for (int i = 0; i < step.inputs_size(); ++i) {
      const auto o = static_cast<size_t>(i);
      Operand operand;
      operand.in = BoundView(step.inputs(i));
      operand.init = BoundView(step.inits(i));
      operand.out = BoundView(step.outputs(i));
      const auto n = static_cast<size_t>(step.inputs_size());
      operand.load = std::make_unique<TileIo>(operand.in.dtype, line(space_.kept, o), workspace);
      operand.store =
          std::make_unique<TileIo>(operand.out.dtype, line(space_.kept, n + o), workspace);
      operand.bytes = lane_bytes(lane_of(operand.in.dtype));
      operands_.push_back(std::move(operand));
    }
    scratch_ = workspace;
    context.need_workspace(workspace + kTile * 16);
  }

  void run(const RunContext& context) override {
    program_.bind(context.workspace);
    program_.run_uniform(tile_);
    columns_.reset();
    do {
      for (int64_t begin = 0; begin < length_; begin += tile_)
        run_tile(context, begin, std::min(tile_, length_ - begin));
    } while (columns_.next());
  }

 private:
  struct Operand {
    BoundView in, init, out;
    std::unique_ptr<TileIo> load, store;
    int64_t bytes = 0;  // of a lane
  };

  void run_tile(const RunContext& context, int64_t begin, int64_t n) {
    const auto count = static_cast<int32_t>(operands_.size());
    // Accumulators live in the slots of the outputs' TileIo.
    for (const Operand& operand : operands_) {
      std::byte* accumulator = context.workspace + operand.store->slot();
      load_element(operand.init.dtype, operand.init.data(context), accumulator);
      broadcast_element(accumulator, operand.bytes, n);
    }
    for (int32_t i = 0; i < count; ++i)
      program_.set(i, context.workspace + operands_[static_cast<size_t>(i)].store->slot());
    const bool in_place = count == 1 && program_.can_redirect(0);
    if (in_place) program_.set(program_.output(0), program_.at(0));
    steps_.reset();
    do {
      for (int32_t i = 0; i < count; ++i)
        program_.set(count + i, load(context, static_cast<size_t>(i), begin, n));
      program_.run(n);
      if (!in_place) keep(n);
    } while (steps_.next());
    for (int32_t i = 0; i < count; ++i) store(context, static_cast<size_t>(i), begin, n);
  }

  const void* load(const RunContext& context, size_t i, int64_t begin, int64_t n) {
    const Operand& operand = operands_[i];
    const std::byte* from = operand.in.data(context) + (columns_.offset(i) + steps_.offset(i) +
                                                        begin * operand.load->strides().column) *
                                                           operand.in.element_bytes;
    if (operand.load->is_direct(1, n)) return from;
    std::byte* slot = context.workspace + operand.load->slot();
    operand.load->load(from, slot, context.workspace + scratch_, 1, n);
    return slot;
  }

  // Copies the program's outputs over the accumulators.
  void keep(int64_t n) {
    for (size_t i = 0; i < operands_.size(); ++i) {
      void* accumulator = program_.at(static_cast<int32_t>(i));
      const void* result = program_.at(program_.output(static_cast<int>(i)));
      if (accumulator != result)
        std::memcpy(accumulator, result, static_cast<size_t>(n * operands_[i].bytes));
    }
  }

  void store(const RunContext& context, size_t i, int64_t begin, int64_t n) {
    const Operand& operand = operands_[i];
    std::byte* to = operand.out.data(context) + (columns_.offset(operands_.size() + i) +
                                                 begin * operand.store->strides().column) *
                                                    operand.out.element_bytes;
    operand.store->store(program_.at(static_cast<int32_t>(i)), to, context.workspace + scratch_, 1,
                         n);
  }

  Space space_;
  Odometer columns_, steps_;
  int64_t length_, tile_;
  TileProgram program_;
  std::vector<Operand> operands_;
  int64_t scratch_ = 0;
};

// Nothing to reduce: the outputs are the initial values.
class FillKernel : public Kernel {
 public:
  explicit FillKernel(const plan::Reduce& step) {
    const std::set<int64_t> gone(step.dims().begin(), step.dims().end());
    std::vector<int64_t> shape;
    for (int d = 0; d < step.shape_size(); ++d)
      if (!gone.count(d)) shape.push_back(step.shape(d));
    for (int i = 0; i < step.inputs_size(); ++i) {
      BoundView init(step.inits(i));
      init.strides.assign(shape.size(), 0);
      copies_.push_back(make_copy(shape, init, BoundView(step.outputs(i))));
    }
  }
  void run(const RunContext& context) override {
    for (const KernelPtr& copy : copies_) copy->run(context);
  }

 private:
  std::vector<KernelPtr> copies_;
};

}  // namespace

KernelPtr make_reduce(const plan::Reduce& step, LoadContext& context) {
  for (int64_t size : step.shape())
    if (size == 0) return std::make_unique<FillKernel>(step);
  Space space(step);
  if (step.op() != plan::NOP) {
    const TileReduction reduction =
        loops().find_reduction(static_cast<TileOp>(step.op()), lane_of(step.inputs(0).dtype()));
    if (!reduction)
      throw UserError(context.op, fmt::format("no CPU kernel for a reduction of {} by {}",
                                              plan::dtype_name(step.inputs(0).dtype()),
                                              plan::ScalarOp_Name(step.op())));
    const auto last = [](const Iteration& it) { return std::abs(it.strides[0].back()); };
    const bool few_columns = space.kept.shape.back() < 16 && space.reduced.shape.back() >= 64;
    if (space.kept.count() == 1 || few_columns ||
        (space.reduced.count() > 1 && last(space.reduced) < last(space.kept)))
      return std::make_unique<RowReduce>(step, std::move(space), reduction, context);
  }
  return std::make_unique<ColumnReduce>(step, std::move(space), context);
}

}  // namespace spmd::cpu
