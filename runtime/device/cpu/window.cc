// reduce_window and select_and_scatter. Work goes in tiles of rows and columns: two dimensions that
// windows pass through unchanged (channels, batch), as far as there are any.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/device/cpu/cumulative.h"
#include "runtime/device/cpu/iteration.h"
#include "runtime/device/cpu/tile_io.h"
#include "runtime/device/cpu/window_walk.h"
#include "runtime/plan/reducer.h"

namespace spmd::cpu {
namespace {

using Dims = std::vector<int64_t>;

int64_t offset_of(const Dims& index, const BoundView& view) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d) offset += index[d] * view.strides[d];
  return offset * view.element_bytes;
}

// Bytes from a view's element at a window to the tile's first one.
int64_t offset_of(const WindowTile& tile, const TileIo& io) {
  return (tile.row * io.strides().row + tile.column * io.strides().column) * io.element_bytes();
}

class ReduceWindowKernel : public Kernel {
 public:
  ReduceWindowKernel(const plan::ReduceWindow& step, LoadContext& context)
      : walk_(WindowDims(step.window()), plan::dims_of(step.inputs(0).shape()),
              plan::dims_of(step.inputs(0).strides()), plan::dims_of(step.outputs(0).shape())),
        tile_(walk_.tile()),
        program_(plan::accumulating_program(step.op(), step.program(), step.inputs(0).dtype()),
                 std::vector<bool>(static_cast<size_t>(2 * step.inputs_size())), tile_, 0,
                 context) {
    int64_t workspace = program_.workspace_end();
    for (int i = 0; i < step.inputs_size(); ++i) {
      inputs_.emplace_back(step.inputs(i));
      inits_.emplace_back(step.inits(i));
      outputs_.emplace_back(step.outputs(i));
      loads_.emplace_back(inputs_.back().dtype, walk_.strides_of(inputs_.back()), workspace);
      stores_.emplace_back(outputs_.back().dtype, walk_.strides_of(outputs_.back()), workspace);
    }
    scratch_ = workspace;
    context.need_workspace(workspace + kTile * 16);
  }

  void run(const RunContext& context) override {
    program_.bind(context.workspace);
    program_.run_uniform(tile_);
    walk_.for_each_tile([&](const WindowTile& tile) { run_tile(context, tile); });
  }

 private:
  void run_tile(const RunContext& context, const WindowTile& tile) {
    const int64_t n = tile.size();
    const auto count = static_cast<int32_t>(inputs_.size());
    std::byte* scratch = context.workspace + scratch_;
    for (int32_t i = 0; i < count; ++i) {
      const auto o = static_cast<size_t>(i);
      std::byte* accumulator = context.workspace + stores_[o].slot();
      load_element(inits_[o].dtype, inits_[o].data(context), accumulator);
      broadcast_element(accumulator, lane_bytes(lane_of(inits_[o].dtype)), n);
      program_.set(i, accumulator);
    }
    const bool in_place = count == 1 && program_.can_redirect(0);
    if (in_place) program_.set(program_.output(0), program_.at(0));
    for (bool more = walk_.first_element(); more; more = walk_.next_element()) {
      for (int32_t i = 0; i < count; ++i) {
        const auto o = static_cast<size_t>(i);
        const std::byte* from = inputs_[o].data(context) + offset_of(walk_.element(), inputs_[o]) +
                                offset_of(tile, loads_[o]);
        std::byte* slot = context.workspace + loads_[o].slot();
        const bool direct = loads_[o].is_direct(tile.rows, tile.columns);
        if (!direct) loads_[o].load(from, slot, scratch, tile.rows, tile.columns);
        program_.set(count + i, direct ? from : slot);
      }
      program_.run(n);
      if (!in_place) keep(n);
    }
    for (size_t o = 0; o < outputs_.size(); ++o)
      stores_[o].store(program_.at(static_cast<int32_t>(o)),
                       outputs_[o].data(context) + offset_of(walk_.position(), outputs_[o]) +
                           offset_of(tile, stores_[o]),
                       scratch, tile.rows, tile.columns);
  }

  void keep(int64_t n) {
    for (size_t i = 0; i < outputs_.size(); ++i) {
      void* accumulator = program_.at(static_cast<int32_t>(i));
      const void* result = program_.at(program_.output(static_cast<int>(i)));
      if (accumulator != result)
        std::memcpy(accumulator, result,
                    static_cast<size_t>(n * lane_bytes(lane_of(inputs_[i].dtype))));
    }
  }

  WindowWalk walk_;
  int64_t tile_;
  TileProgram program_;
  std::vector<BoundView> inputs_, inits_, outputs_;
  std::vector<TileIo> loads_, stores_;
  int64_t scratch_ = 0;
};

// Per tile: the selected values and where they are, then one scatter step on those places. Tiles
// run along dimensions that windows pass through, so that their places are all different.
class SelectAndScatterKernel : public Kernel {
 public:
  SelectAndScatterKernel(const plan::SelectAndScatter& step, LoadContext& context)
      : operand_(step.operand()),
        source_(step.source()),
        init_(step.init()),
        out_(step.out()),
        walk_(WindowDims(step.window()), operand_.shape, operand_.strides, source_.shape),
        tile_(walk_.tile()),
        select_(step.select(), {false, false}, tile_, 0, context),
        scatter_(step.scatter(), {false, false}, tile_, select_.workspace_end(), context),
        workspace_(scatter_.workspace_end()),
        operand_io_(operand_.dtype, walk_.strides_of(operand_), workspace_),
        source_io_(source_.dtype, walk_.strides_of(source_), workspace_),
        best_(take(lane_bytes(lane_of(operand_.dtype)))),
        current_(take(lane_bytes(lane_of(operand_.dtype)))),
        places_(take(8)) {
    BoundView fill = init_;
    fill.strides.assign(out_.shape.size(), 0);
    fill_ = make_copy(out_.shape, fill, out_);
    context.need_workspace(workspace_ + kTile * 16);
  }

  void run(const RunContext& context) override {
    fill_->run(context);
    if (std::find(source_.shape.begin(), source_.shape.end(), 0) != source_.shape.end()) return;
    select_.bind(context.workspace);
    select_.run_uniform(tile_);
    scatter_.bind(context.workspace);
    scatter_.run_uniform(tile_);
    walk_.for_each_tile([&](const WindowTile& tile) { run_tile(context, tile); });
  }

 private:
  int64_t take(int64_t element_bytes) {
    const int64_t offset = workspace_;
    workspace_ += kTile * element_bytes;
    return offset;
  }

  void run_tile(const RunContext& context, const WindowTile& tile) {
    const int64_t n = tile.size();
    const Lane lane = lane_of(operand_.dtype);
    std::byte* best = context.workspace + best_;
    auto* places = reinterpret_cast<int64_t*>(context.workspace + places_);
    std::byte* scratch = context.workspace + scratch_offset();
    if (!walk_.first_element()) return;
    bool first = true;
    do {
      const int64_t place = offset_of(walk_.element(), out_);
      const std::byte* from = operand_.data(context) + offset_of(walk_.element(), operand_) +
                              offset_of(tile, operand_io_);
      std::byte* element = context.workspace + operand_io_.slot();
      operand_io_.load(from, first ? best : element, scratch, tile.rows, tile.columns);
      if (first) {
        std::fill(places, places + n, place);
      } else {
        keep_or_take(best, element, places, place, lane, n);
      }
      first = false;
    } while (walk_.next_element());
    scatter_tile(context, places, tile);
  }

  // Where select(best, element) is false, element becomes the best.
  void keep_or_take(std::byte* best, const std::byte* element, int64_t* places, int64_t place,
                    Lane lane, int64_t n) {
    select_.set(0, best);
    select_.set(1, element);
    select_.run(n);
    const auto* keeps = static_cast<const uint8_t*>(select_.at(select_.output(0)));
    const void* values[] = {keeps, best, element};
    loops().find(TileOp::kSelect, lane)(best, values, n, 0);
    for (int64_t i = 0; i < n; ++i) places[i] = keeps[i] ? places[i] : place;
  }

  // `places`: bytes in the result, where the tile's first column and row are.
  void scatter_tile(const RunContext& context, const int64_t* places, const WindowTile& tile) {
    std::byte* scratch = context.workspace + scratch_offset();
    std::byte* current = context.workspace + current_;
    std::byte* source = context.workspace + source_io_.slot();
    const TileStrides steps = walk_.strides_of(out_);
    const int64_t bytes = lane_bytes(lane_of(out_.dtype));
    source_io_.load(
        source_.data(context) + offset_of(walk_.position(), source_) + offset_of(tile, source_io_),
        source, scratch, tile.rows, tile.columns);
    const auto for_each = [&](const auto& visit) {
      for (int64_t r = 0, i = 0; r < tile.rows; ++r)
        for (int64_t c = 0; c < tile.columns; ++c, ++i)
          visit(i, out_.data(context) + places[i] +
                       ((tile.row + r) * steps.row + (tile.column + c) * steps.column) *
                           out_.element_bytes);
    };
    for_each(
        [&](int64_t i, std::byte* place) { load_element(out_.dtype, place, current + i * bytes); });
    scatter_.set(0, current);
    scatter_.set(1, source);
    scatter_.run(tile.size());
    const auto* result = static_cast<const std::byte*>(scatter_.at(scatter_.output(0)));
    for_each(
        [&](int64_t i, std::byte* place) { store_element(out_.dtype, result + i * bytes, place); });
  }
  int64_t scratch_offset() const { return workspace_; }

  BoundView operand_, source_, init_, out_;
  WindowWalk walk_;
  int64_t tile_;
  TileProgram select_, scatter_;
  int64_t workspace_;
  TileIo operand_io_, source_io_;
  int64_t best_, current_, places_;
  KernelPtr fill_;
};

class NoWindows : public Kernel {
 public:
  void run(const RunContext&) override {}
};

}  // namespace

KernelPtr make_reduce_window(const plan::ReduceWindow& step, LoadContext& context) {
  if (plan::element_count(step.outputs(0).shape()) == 0) return std::make_unique<NoWindows>();
  if (KernelPtr cumulative = make_cumulative(step, context)) return cumulative;
  return std::make_unique<ReduceWindowKernel>(step, context);
}

KernelPtr make_select_and_scatter(const plan::SelectAndScatter& step, LoadContext& context) {
  if (plan::element_count(step.operand().shape()) == 0) return std::make_unique<NoWindows>();
  return std::make_unique<SelectAndScatterKernel>(step, context);
}

}  // namespace spmd::cpu
